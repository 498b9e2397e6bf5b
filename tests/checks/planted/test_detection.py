"""Some pairs on the CPU device; all of them with `python -m tests.checks.planted`."""

from __future__ import annotations

import pytest

from tests.checks.planted import detection, verdicts
from tests.slow_cases import some_slow

QUICK = {
    "lanes": ("lanes_write_write", "lanes_write_read", "lanes_of_two_branches"),
    "blocks": ("blocks_stencil_in_place", "blocks_histogram", "blocks_flag_without_fence", "blocks_last_block"),
    "leaks": ("leaks_malloc", "leaks_one_thread"),
    "uninitialized": ("uninitialized_shared", "uninitialized_buffer"),
    "remote_copies": ("remote_multicast_overwrites", "remote_copy_source", "remote_store_early", "remote_add_early"),
    "textures": ("textures_write_write", "textures_barrier", "textures_filtered", "textures_unwritten"),
    "warpgroups": ("warpgroups_operand", "warpgroups_proxy_early", "warpgroups_unwritten"),
    "barriers": ("barriers_half_of_a_warp", "barriers_two_numbers", "barriers_mbarrier_count", "barriers_two_locks"),
}


SLOW = ("barriers", "blocks", "remote_copies", "warpgroups")


@pytest.mark.parametrize("program", some_slow(QUICK, SLOW))
@pytest.mark.parametrize("planted", [True, False], ids=["planted", "clean"])
def test_planted_errors_are_found_and_clean_twins_are_not_reported(program: str, *, planted: bool) -> None:
    said = detection.run(program, planted=planted, names=QUICK[program])
    judged = [verdicts.judge(pair, findings, planted=planted) for pair, findings in said]
    assert [item.pair.name for item in judged] == list(QUICK[program])
    assert [item for item in judged if item.verdict not in ("found", "clean")] == []
