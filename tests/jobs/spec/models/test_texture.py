from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from gpuregress.jobs.spec.models.texture import Surface, TextureSpec


def test_one_mode_stands_for_all_axes() -> None:
    assert TextureSpec.model_validate({"address": "wrap"}).address == ["wrap"]
    assert TextureSpec.model_validate({"address": ["wrap", "border"]}).address == ["wrap", "border"]
    assert TextureSpec.model_validate({}).address == ["clamp"]


@pytest.mark.parametrize("given", [{"address": "around"}, {"address": []}, {"normalized": "yes"}, True])
def test_what_is_no_texture(given: Any) -> None:
    with pytest.raises(ValidationError, match="expected"):
        TextureSpec.model_validate(given)


def test_a_surface_is_a_flag_or_layered() -> None:
    surface = TypeAdapter[bool | str](Surface)
    assert [surface.validate_python(given) for given in (True, False, "layered")] == [True, False, "layered"]
    with pytest.raises(ValidationError, match="expected true, false or layered, got 'cubic'"):
        surface.validate_python("cubic")
