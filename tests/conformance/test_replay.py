"""What an H200 stored, against what the cpu device stores: names the opcodes that are off."""

from __future__ import annotations

import json

import pytest

from gpuregress.devices.registry import open_device
from gpuregress.errors import GpuregressError
from tests.conformance.generate import Batch, batches
from tests.conformance.replay import DIGESTS, OPEN, digest, results_of

_BATCHES = {batch.name: batch for batch in batches()}


@pytest.mark.skipif(not DIGESTS.exists(), reason="tests/conformance/digests.json has not been recorded on a GPU yet")
@pytest.mark.parametrize("batch", _BATCHES.values(), ids=_BATCHES)
def test_the_cpu_device_stores_what_the_card_stored(batch: Batch) -> None:
    recorded = json.loads(DIGESTS.read_text(encoding="utf-8"))
    wrong = []
    with open_device("cpu") as device:
        for form, _, results in results_of(device, batch):
            found = str(results) if isinstance(results, GpuregressError) else digest(results)
            if recorded.get(form.name) != found and form.name not in OPEN:
                wrong.append(f"{form.name}: {found}, the card {recorded.get(form.name, 'was not asked')}")
    assert not wrong, "\n".join(wrong)
