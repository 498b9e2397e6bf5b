from __future__ import annotations

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.report.html.drawing import png
from tests.report.html.drawing.test_pictures import pixels


@given(st.integers(1, 9), st.data())
def test_every_cell_has_its_colour(columns: int, data: st.DataObject) -> None:
    cells = data.draw(st.binary(min_size=columns, max_size=9 * columns).filter(lambda one: len(one) % columns == 0))
    svg = ET.Element("svg")
    ET.SubElement(svg, "image", href=png.data_uri(cells, columns, lambda level: f"{level:02x}{255 - level:02x}07"))
    flat = [colour for row in pixels(svg) for colour in row]
    assert flat == [f"{level:02x}{255 - level:02x}07" for level in cells]
