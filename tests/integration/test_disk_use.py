"""Compressed and shared dumps from end to end: run, accept, diff, inputs of other jobs, damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workshop import JOB, RUN, Workshop

N = 20_000


@pytest.fixture
def shop(fake_shop: Workshop) -> Workshop:
    """A project in which every dump is compressed, with an accepted baseline."""
    fake_shop.write("gpuregress.yaml", "dumps: {compress_above: 1kB}\n")
    fake_shop.job(("n: [100]", f"n: [{N}]"))
    assert fake_shop.call(*RUN, "scale").exit_code == 1
    assert fake_shop.call("accept", "scale", "-m", "right").exit_code == 0
    return fake_shop


def changed(shop: Workshop) -> None:
    shop.job(("n: [100]", f"n: [{N}]"), ("{float32: 2.0}", "{float32: 3.0}"))


def only(shop: Workshop, pattern: str) -> Path:
    (path,) = shop.root.glob(pattern)
    return path


def test_compressed_dumps_are_accepted_and_compared(shop: Workshop) -> None:
    assert only(shop, f"baselines/scale/n={N}/out.*").name == "out.1.4.zst"
    assert only(shop, f"runs/latest/dumps/scale/n={N}/out.*").name == "out.1.4.zst"
    assert shop.call(*RUN, "scale").exit_code == 0
    changed(shop)
    result = shop.call(*RUN, "scale")
    assert result.exit_code == 1
    assert f"{N - 1} of {N}" in result.output.replace(",", "")
    runs = sorted(path.name for path in (shop.root / "runs").glob("2*"))
    difference = shop.call("diff", f"{shop.root}/runs/{runs[0]}/dumps/scale/n={N}/out.1.4.zst",
                           f"{shop.root}/runs/{runs[2]}/dumps/scale/n={N}/out.1.4.zst")  # fmt: skip
    assert difference.exit_code == 1, difference.output
    assert shop.call("accept", "scale", "-m", "three is meant").exit_code == 0
    assert [path.name for path in (shop.root / f"baselines/scale/n={N}").glob("out.*")] == ["out.1.4.zst"]
    assert shop.call(*RUN, "scale").exit_code == 0


def test_compressed_and_plain_dumps_are_the_same(shop: Workshop) -> None:
    """Another limit changes the files of the next run, and no verdict."""
    (shop.root / "gpuregress.yaml").write_text("{}\n")
    assert shop.call(*RUN, "scale").exit_code == 0
    assert only(shop, f"runs/latest/dumps/scale/n={N}/out.*").name == "out.1.4"
    assert shop.call("accept", "scale", "-m", "again").exit_code == 0
    assert [path.name for path in (shop.root / f"baselines/scale/n={N}").glob("out.*")] == ["out.1.4.zst"]
    changed(shop)
    assert shop.call(*RUN, "scale").exit_code == 1
    assert shop.call("accept", "scale", "-m", "three is meant").exit_code == 0
    assert [path.name for path in (shop.root / f"baselines/scale/n={N}").glob("out.*")] == ["out.1.4"]
    assert shop.call(*RUN, "scale").exit_code == 0


@pytest.mark.parametrize("origin", [f"baseline:scale/n={N}/out", f"run:latest/scale/n={N}/out"])
def test_a_compressed_dump_is_an_input(shop: Workshop, origin: str) -> None:
    text = JOB.replace("n: [100]", f"n: [{N}]").replace("fill: arange", f'fill: {{file: "{origin}"}}')
    shop.write("configs/next.yaml", text)
    result = shop.call(*RUN, "next")
    assert result.exit_code == 1, result.output
    assert "new" in result.output


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_damaged_compressed_baseline_is_an_error_that_names_it(shop: Workshop, damage: str) -> None:
    path = only(shop, f"baselines/scale/n={N}/out.*")
    content = bytearray(path.read_bytes())
    if damage == "cut":
        del content[-5:]
    else:
        content[len(content) // 2] ^= 1
    path.write_bytes(content)
    result = shop.call(*RUN, "scale")
    assert result.exit_code == 4
    assert f"{path.name}: cut short or edited since it was accepted" in result.output


def test_equal_dumps_of_all_runs_are_one_file(shop: Workshop) -> None:
    for _ in range(2):
        assert shop.call(*RUN, "scale").exit_code == 0
    dumps = list(shop.root.glob(f"runs/2*/dumps/scale/n={N}/out.1.4.zst"))
    assert len(dumps) == 3
    assert len({path.stat().st_ino for path in dumps}) == 1
    assert only(shop, f"baselines/scale/n={N}/out.*").stat().st_ino != dumps[0].stat().st_ino
    assert dumps[0].stat().st_mode & 0o222 == 0


def test_an_edit_of_a_shared_dump_reaches_no_later_run(shop: Workshop) -> None:
    """The edited file is not linked again, and neither it nor its other names can be accepted."""
    assert shop.call(*RUN, "scale").exit_code == 0
    (dump, _) = sorted(shop.root.glob(f"runs/2*/dumps/scale/n={N}/out.1.4.zst"))
    dump.chmod(0o644)
    dump.write_bytes(dump.read_bytes()[:-4] + b"xxxx")
    assert shop.call(*RUN, "scale").exit_code == 0
    newest = only(shop, f"runs/latest/dumps/scale/n={N}/out.*")
    assert newest.stat().st_ino != dump.stat().st_ino
    message = shop.fails(4, "accept", "scale", "--run", dump.parts[-5], "-m", "wrong")
    assert "changed since the run wrote it" in message
