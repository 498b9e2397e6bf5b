"""Runs of several jobs of which some are wrong."""

from __future__ import annotations

import json

from tests import workshop
from tests.workshop import RUN, Workshop, results

KERNEL_NAME = ("kernel: scale", "kernel: scalle")
WRONG = {
    "kernel": KERNEL_NAME,
    "source": ("scale.cu", "missing.cu"),
    "count": ("[out, x, {float32: 2.0}", "[out, x"),
    "file": ("fill: arange", "fill: {file: nothing.npy}"),
    "module": ("launches:", "reference: {out: 'broken.py:f'}\nlaunches:"),
    "grid": ("[ceil(n / 32)]", "[0]"),
    "yaml": ("buffers:", "buffers: ["),
    "kind": ("source:", "sauce: 1\nsource:"),
}
"""Job → what is wrong with it."""


def statuses(shop: Workshop) -> dict[str, str]:
    document = json.loads((shop.root / "runs/latest/results.json").read_text())
    return {case["case"]: case["verdict"] for case in document["cases"]}


def test_whatever_is_wrong_with_a_job_stops_only_itself_and_check_names_all(shop: Workshop) -> None:
    for name, change in WRONG.items():
        shop.job(change, name=name)
    shop.write("configs/broken.py", "def f(")
    shop.write("kernels/bad.cu", workshop.KERNEL.replace("int i =", "int i"))
    shop.job(("scale.cu", "bad.cu"), name="uncompiled")
    result = shop.call(*RUN, "--junit", str(shop.root / "junit.xml"))
    assert result.exit_code == 3  # of the source that does not compile
    assert statuses(shop) == {
        **dict.fromkeys(WRONG, "error"),
        "uncompiled/n=100": "error",
        "scale/n=100": "new",
    }
    codes = {case["case"]: case["exit_code"] for case in results(shop)["cases"]}  # type: ignore[attr-defined]
    assert {name: codes[name] for name in WRONG} == dict.fromkeys(WRONG, 2)
    junit = (shop.root / "junit.xml").read_text()
    for name in WRONG:
        assert f'<testcase name="{name}"' in junit
    checked = shop.call("check")
    assert checked.exit_code == 3
    for name in WRONG:
        assert f"configs/{name}.yaml:" in checked.stderr
    assert "kernels/bad.cu:4: error" in checked.stderr
    assert "scale.yaml" not in checked.stderr


def test_a_wrong_job_alone_is_told_and_nothing_is_kept(shop: Workshop) -> None:
    shop.job(KERNEL_NAME)
    assert "has no kernel 'scalle'" in shop.fails(2, *RUN)
    shop.job(KERNEL_NAME, name="other")
    assert shop.fails(2, *RUN, "scale", "other").count("has no kernel 'scalle'") == 2
    shop.job(WRONG["kind"])
    shop.job(WRONG["kind"], name="other")
    assert shop.fails(2, *RUN).count("sauce") == 2
    assert not (shop.root / "runs/latest").exists()
    shop.job(KERNEL_NAME, name="other")  # no job is left, each for its own reason
    result = shop.call(*RUN)
    assert result.exit_code == 2
    assert statuses(shop) == {"scale": "error", "other": "error"}


def test_failures_that_are_run_again_include_a_job_that_is_still_wrong(shop: Workshop) -> None:
    shop.job(KERNEL_NAME, name="other")
    shop.write("configs/expected.py", "def twice(inputs, case):\n    return 2 * inputs['x']\n")
    shop.job(("launches:", "reference: {out: 'expected.py:twice'}\nlaunches:"))
    assert shop.call(*RUN).exit_code == 2
    assert statuses(shop) == {"other": "error", "scale/n=100": "pass"}
    assert "has no kernel 'scalle'" in shop.fails(2, *RUN, "--rerun-failed")
    shop.job(WRONG["kind"], name="other")
    assert "sauce" in shop.fails(2, *RUN, "--rerun-failed")
