from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.runtime.bulk_forms import BulkForm, form_of

BARRIER = "mbarrier::complete_tx::bytes"


def _form(text: str) -> BulkForm | None:
    return form_of(tuple(text.replace("BARRIER", BARRIER).split(".")))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("async.bulk.commit_group", BulkForm("commit")),
        ("async.bulk.wait_group", BulkForm("wait")),
        ("async.bulk.wait_group.read", BulkForm("wait", reads_only=True)),
        ("async.bulk.shared::cluster.global.BARRIER", BulkForm("copy", "shared", "global")),
        (
            "async.bulk.shared::cluster.global.BARRIER.multicast::cluster.L2::cache_hint",
            BulkForm("copy", "shared", "global", multicast=True),
        ),
        ("async.bulk.shared::cluster.shared::cta.BARRIER", BulkForm("copy", "shared", "shared")),
        ("async.bulk.global.shared::cta.bulk_group", BulkForm("copy", "global", "shared")),
        ("async.bulk.prefetch.L2.global", BulkForm("prefetch", source="global")),
        ("async.bulk.prefetch.tensor.3d.L2.global.im2col", BulkForm("prefetch", source="global", axes=3, im2col=True)),
        ("async.bulk.tensor.2d.shared::cluster.global.tile.BARRIER", BulkForm("copy", "shared", "global", 2)),
        (
            "async.bulk.tensor.4d.shared::cta.global.im2col.BARRIER",
            BulkForm("copy", "shared", "global", 4, im2col=True),
        ),
        ("async.bulk.tensor.1d.global.shared::cta.bulk_group", BulkForm("copy", "global", "shared", 1)),
        (
            "async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group",
            BulkForm("copy", "global", "shared", 3, im2col=True),
        ),
        (
            "reduce.async.bulk.shared::cluster.shared::cta.BARRIER.inc.u32",
            BulkForm("copy", "shared", "shared", reduction="inc", type="u32"),
        ),
        (
            "reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16",
            BulkForm("copy", "global", "shared", reduction="add", type="bf16"),
        ),
        (
            "reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group",
            BulkForm("copy", "global", "shared", 2, reduction="add"),
        ),
    ],
)
def test_forms(text: str, form: BulkForm) -> None:
    assert _form(text) == form


@pytest.mark.parametrize(
    "text",
    [
        "async",
        "async.bulk.global.global.bulk_group",
        "async.bulk.shared::cluster.global",
        "async.bulk.tensor.6d.shared::cluster.global.BARRIER",
        "async.bulk.tensor.2d.shared::cluster.global.im2col.BARRIER",
        "async.bulk.tensor.2d.shared::cluster.shared::cta.BARRIER",
        "async.bulk.global.shared::cta.bulk_group.cp_mask",
        "async.bulk.tensor.4d.shared::cluster.global.tile::gather4.BARRIER",
        "reduce.async.bulk.shared::cluster.shared::cta.BARRIER.add.f32",
        "reduce.async.bulk.global.shared::cta.bulk_group.add.f16",
        "reduce.async.bulk.global.shared::cta.bulk_group.mul.f32",
        "reduce.async.bulk.shared::cluster.global.BARRIER.add.u32",
    ],
)
def test_other_forms_are_refused(text: str) -> None:
    assert _form(text) is None
