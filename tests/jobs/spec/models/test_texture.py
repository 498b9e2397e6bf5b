from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.document.forms import FormErrors
from gpuregress.jobs.spec.models.buffer import BufferSpec, TextureSpec


def test_one_mode_stands_for_all_axes() -> None:
    assert TextureSpec.of({"address": "wrap"}).address == ["wrap"]
    assert TextureSpec.of({"address": ["wrap", "border"]}).address == ["wrap", "border"]
    assert TextureSpec.of({}).address == ["clamp"]


@pytest.mark.parametrize("given", [{"address": "around"}, {"address": []}, {"normalized": "yes"}, True])
def test_what_is_no_texture(given: Any) -> None:
    with pytest.raises(FormErrors, match="expected"):
        TextureSpec.of(given)


def test_a_surface_is_a_flag_or_layered() -> None:
    def surface(given: Any) -> Any:
        return BufferSpec.of({"dtype": "float32", "shape": [8], "surface": given}).surface

    assert [surface(given) for given in (True, False, "layered")] == [True, False, "layered"]
    with pytest.raises(FormErrors, match="expected one of true, false, layered; got 'cubic'"):
        surface("cubic")
