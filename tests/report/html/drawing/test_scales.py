from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import ImageLayer
from gpuregress.report.html.drawing import scales


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.data())
def test_indices_are_numpys(shape: list[int], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, int(np.prod(shape)) - 1))
    assert scales.index_text(shape, index) == f"[{','.join(str(int(one)) for one in np.unravel_index(index, shape))}]"


def test_bytes_are_numbers_again() -> None:
    layer = ImageLayer(1e-6, 1.0, "")
    assert [scales.error_at(layer, level) for level in (1, 254)] == pytest.approx([1e-6, 1.0])
    assert scales.error_at(layer, 128) == pytest.approx(1e-3, rel=0.05)
    assert [scales.value_at(ImageLayer(-2, 2, ""), level) for level in (0, 1, 127, 253, 254)] == [-2, -2, 0, 2, 2]


def test_a_legend_names_its_quantity_and_labels_its_ticks() -> None:
    text = scales.legend("errors", "error <x>", ((0.0, "1e-3"), (1.0, "1")))
    assert "<title>scale of error &lt;x&gt;: 1e-3, 1</title>" in text
    assert ">1e-3</text>" in text
