from __future__ import annotations

import json

from gpuregress.virtual_gpu.runtime.footprint_ir import Constant, Footprint, Write
from gpuregress.virtual_gpu.runtime.program import StoredFootprint
from gpuregress.virtual_gpu.runtime.record_codec import encode


def test_a_stored_footprint_is_decoded_once() -> None:
    footprint = Footprint((Constant(4096),), {}, {}, (Write(4, 0, 8, ()),), has_loops=False)
    stored = StoredFootprint(footprint.has_loops, json.dumps(encode(footprint)))
    assert stored.footprint == footprint
    assert stored.footprint is stored.footprint
