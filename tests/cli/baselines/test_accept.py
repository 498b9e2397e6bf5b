"""`gpuregress accept`: what it asks, what it refuses, what it says of what was never written."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager

import pytest

from gpuregress.cli import console, context, progress
from gpuregress.store.baselines.store import AcceptBatch, BaselineStore
from tests.workshop import (
    IDLE_KERNEL,
    JOB,
    KERNEL,
    RUN,
    SLEEPY,
    Workshop,
    accepted,
    change,
    idle,
    revisions,
    two_differ,
)


def test_what_differs_is_not_accepted_without_a_word(fake_shop: Workshop) -> None:
    two_differ(fake_shop)
    output = fake_shop.fails(2, "accept")
    assert "2 differing cases of 1 job would be accepted" in output
    assert "--all" in output
    assert set(revisions(fake_shop).values()) == {"1.4"}


@pytest.mark.parametrize("how", [("--all",), ("-m", "three is right"), ("scale",), ("scale/*",)])
def test_what_differs_is_accepted_when_it_is_meant(fake_shop: Workshop, how: tuple[str, ...]) -> None:
    two_differ(fake_shop)
    assert fake_shop.call("accept", *how).exit_code == 0
    assert set(revisions(fake_shop).values()) == {"1.5"}


def test_what_is_only_new_needs_no_word(fake_shop: Workshop) -> None:
    fake_shop.call(*RUN)
    assert fake_shop.call("accept").exit_code == 0


@pytest.mark.parametrize("wanted", [True, False])
def test_the_bar_is_shown_where_the_console_shows_bars(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch, *, wanted: bool
) -> None:
    bars: list[int] = []
    bar = progress.BarProgress

    def watch(verbosity: int, *, to_stderr: bool) -> progress.BarProgress:
        bars.append(verbosity)
        return bar(verbosity, to_stderr=to_stderr)

    fake_shop.call(*RUN)
    monkeypatch.setattr(progress, "BarProgress", watch)
    monkeypatch.setattr(console, "can_animate", lambda _stream: wanted)
    assert fake_shop.call("accept").exit_code == 0
    assert bars == ([-1] if wanted else [])


def test_new_only_leaves_what_differs(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    change(fake_shop)
    fake_shop.job(("{float32: 2.0}", "{float32: 3.0}"), ("n: [100]", "n: [100, 200]"))
    fake_shop.call(*RUN)
    assert fake_shop.call("accept", "--new-only").exit_code == 0
    assert revisions(fake_shop) == {"scale/n=100": "1.4", "scale/n=200": "1.5"}


def test_new_only_leaves_what_was_accepted_since_the_run(fake_shop: Workshop) -> None:
    fake_shop.call(*RUN)
    assert fake_shop.call("accept").exit_code == 0
    first = (fake_shop.root / "runs/latest").resolve().name
    change(fake_shop)
    fake_shop.call(*RUN)
    assert fake_shop.call("accept", "--all").exit_code == 0
    fake_shop.fails(5, "accept", "--run", first, "--new-only")
    assert revisions(fake_shop) == {"scale/n=100": "1.5"}


def test_new_only_leaves_what_another_process_accepts_meanwhile(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_shop.call(*RUN)
    first = (fake_shop.root / "runs/latest").resolve().name
    change(fake_shop)
    fake_shop.call(*RUN)
    accepting = BaselineStore.accepting

    def late(store: BaselineStore) -> AbstractContextManager[AcceptBatch]:
        """Let another accept come first."""
        monkeypatch.setattr(BaselineStore, "accepting", accepting)
        assert fake_shop.call("accept", "--all").exit_code == 0
        return store.accepting()

    monkeypatch.setattr(BaselineStore, "accepting", late)
    fake_shop.fails(5, "accept", "--run", first, "--new-only")
    assert revisions(fake_shop) == {"scale/n=100": "1.5"}


@pytest.mark.parametrize("arguments", [("--all", "scale"), ("--all", "--new-only")])
def test_all_and_a_choice_exclude_each_other(fake_shop: Workshop, arguments: tuple[str, ...]) -> None:
    assert "--all accepts everything" in fake_shop.fails(2, "accept", *arguments)


@pytest.mark.parametrize(("answer", "code", "revision"), [("y", 0, "1.5"), ("n", 5, "1.4"), ("", 5, "1.4")])
def test_on_a_terminal_it_asks(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, revision: str
) -> None:
    two_differ(fake_shop)
    asked: list[str] = []

    def confirm(question: str, *, default: bool) -> bool:
        asked.append(question)
        return answer == "y" or default

    monkeypatch.setattr(context, "is_interactive", lambda: True)
    monkeypatch.setattr("click.confirm", confirm)
    assert fake_shop.call("accept", "-m", "a reason").exit_code == code
    assert asked == ["accept 2 differing cases of 1 job?"]
    assert set(revisions(fake_shop).values()) == {revision}


def test_a_run_and_accept_say_what_was_never_written(fake_shop: Workshop) -> None:
    fake_shop.job(("kernel: scale", "kernel: eight"))
    fake_shop.write("kernels/scale.cu", IDLE_KERNEL.replace("idle", "eight"))
    line = "out: 92 of 100 elements were never written ([8] to [99]); 0 NaN"
    assert line in fake_shop.call(*RUN).stdout
    (case,) = json.loads((fake_shop.root / "runs/latest/results.json").read_text())["cases"]
    assert case["unwritten"]["out"]["elements"] == 92
    assert line in fake_shop.call("accept").stdout


def test_an_output_of_which_nothing_was_written_is_refused(fake_shop: Workshop) -> None:
    idle(fake_shop)
    assert "100 of 100 elements were never written" in fake_shop.call(*RUN).stdout
    for how in ((), ("scale",), ("--new-only",), ("-m", "it is right")):
        assert "nothing of out was written" in fake_shop.fails(4, "accept", *how)
    assert not (fake_shop.root / "baselines/scale").exists()
    assert "--unwritten-ok" in fake_shop.fails(2, "accept", "scale", "--unwritten-ok", " ")
    assert fake_shop.call("accept", "scale", "--unwritten-ok", "it only prints").exit_code == 0
    assert "unwritten: it only prints" in fake_shop.call("blame", "scale").stdout
    assert fake_shop.call(*RUN).exit_code == 0


def test_a_reason_that_was_not_needed_is_not_kept(fake_shop: Workshop) -> None:
    fake_shop.call(*RUN)
    fake_shop.call("accept", "scale", "--unwritten-ok", "never mind")
    assert "never mind" not in fake_shop.call("blame", "scale").stdout


def test_a_fill_that_no_kernel_changed_is_said_and_accepted(fake_shop: Workshop) -> None:
    idle(fake_shop)
    text = JOB.replace(*SLEEPY).replace(
        "out: {dtype: float32, shape: [n]}", "out: {dtype: float32, shape: [n], fill: ones}"
    )
    fake_shop.write("configs/scale.yaml", text + "dump: [out]\n")
    assert "out: equal to its fill, no element changed" in fake_shop.call(*RUN).stdout
    done = fake_shop.call("accept")
    assert done.exit_code == 0
    assert "out: equal to its fill, no element changed" in done.stdout


def test_all_nan_is_said(fake_shop: Workshop) -> None:
    fake_shop.job(("{float32: 2.0}", "{float32: .nan}"))
    output = fake_shop.call(*RUN).stdout
    assert "out: 0 of 100 elements were never written; 100 NaN" in output
    assert "--poison twice" in output


def test_a_device_may_have_a_baseline_of_its_own_which_comes_first(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    change(fake_shop)
    fake_shop.call(*RUN)
    assert "it says nothing of cuda" in fake_shop.fails(4, "accept", "--for", "cuda", "scale")
    assert "for cpu at revision 1.5" in fake_shop.call("accept", "--for", "cpu", "--all").stdout
    passed = fake_shop.call(*RUN, "-v")
    assert passed.exit_code == 0
    assert "compared with the baseline for cpu" in passed.stdout
    entry = json.loads(fake_shop.call("list", "--json").stdout)[0]
    assert (entry["baseline_revision"], entry["own_baselines"]) == ("1.4", {"cpu": "1.5"})
    assert "1.4, cpu: 1.5" in fake_shop.call("list").stdout
    assert "scale/n=100 for cpu" in fake_shop.call("blame", "scale").stdout
    # From now on an accept changes the nearest one, unless the common one is named.
    change(fake_shop, factor="4.0", revision="1.6")
    fake_shop.call(*RUN)
    assert "for cpu at revision 1.6" in fake_shop.call("accept", "--all").stdout
    fake_shop.call(*RUN)
    assert "for cpu" not in fake_shop.call("accept", "--for", "common", "scale").stdout
    assert revisions(fake_shop) == {"scale/n=100": "1.6"}


def test_an_architecture_may_have_a_baseline_of_its_own(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    change(fake_shop)
    fake_shop.call(*RUN)
    assert "for sm_90 at revision 1.5" in fake_shop.call("accept", "--for", "sm_90", "--all").stdout
    assert "compared with the baseline for sm_90" in fake_shop.call(*RUN, "-v").stdout


def test_small_accepts_do_not_creep_past_the_limit(fake_shop: Workshop) -> None:
    """Each step is within the tolerance of the one before, the third is not within that of the first."""
    rule = ("    args:", "    args:")
    fake_shop.job(rule)
    text = (fake_shop.root / "configs/scale.yaml").read_text() + "compare: {out: {rtol: 1.0e-3}}\n"
    fake_shop.write("configs/scale.yaml", text)
    accepted(fake_shop)
    for factor in ("2.0008", "2.0016"):
        fake_shop.write("configs/scale.yaml", text.replace("2.0}", f"{factor}}}"))
        assert fake_shop.call(*RUN).exit_code == 0
        assert fake_shop.call("accept", "scale").exit_code == 0
    fake_shop.write("configs/scale.yaml", text.replace("2.0}", "2.0024}"))
    crept = fake_shop.call(*RUN)
    assert crept.exit_code == 1
    assert "out: drift: 99 of 100 differ from the first one accepted, revision 1.4" in crept.stdout
    # Whoever accepts that has seen it: the next drift begins here.
    assert fake_shop.call("accept", "--all").exit_code == 0
    assert fake_shop.call(*RUN).exit_code == 0


def test_accepting_leaves_nothing_but_baselines_beside_them(fake_shop: Workshop) -> None:
    """What stands there is committed: no lock, no temporary file."""
    accepted(fake_shop)
    assert sorted(path.name for path in (fake_shop.root / "baselines").iterdir()) == ["cases.yaml", "scale"]
    fake_shop.job(("n: [100]", "n: [200]"))
    fake_shop.call("accept", "--prune")
    assert not list((fake_shop.root / "baselines").iterdir())


def test_accept_refuses_what_did_not_run_to_its_end(fake_shop: Workshop) -> None:
    fake_shop.write("kernels/scale.cu", KERNEL.replace("void scale", "void slow"))
    fake_shop.job(("kernel: scale", "kernel: slow"))
    fake_shop.call(*RUN, "--timeout", "0.2")
    assert "timeout" in fake_shop.fails(4, "accept")
    assert not (fake_shop.root / "baselines").exists()


def test_prune_removes_only_baselines_without_a_case(fake_shop: Workshop) -> None:
    fake_shop.job(("n: [100]", "n: [100, 200]"))
    accepted(fake_shop)
    fake_shop.job()
    assert "scale/n=200" in fake_shop.call("accept", "--prune").stdout
    assert (fake_shop.root / "baselines/scale/n=100").is_dir()
    assert not (fake_shop.root / "baselines/scale/n=200").exists()
