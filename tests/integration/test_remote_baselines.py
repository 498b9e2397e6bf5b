"""Accepted dumps in a remote folder from end to end: an identical run downloads nothing, a difference what it needs."""

from __future__ import annotations

import importlib.util
import shutil

import pytest

from tests.workshop import JOB, KERNEL, RUN, Workshop

pytestmark = pytest.mark.skipif(importlib.util.find_spec("s3fs") is None, reason="s3fs is not installed")


@pytest.fixture
def far(fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """A project with an accepted baseline, whose dump is in another folder."""
    monkeypatch.setenv("GPUREGRESS_CACHE", str(fake_shop.root / "cache"))
    fake_shop.write("gpuregress.yaml", f"folders: {{dumps: {fake_shop.root}/objects}}\n")
    assert fake_shop.call(*RUN, "scale").exit_code == 1
    assert fake_shop.call("accept", "scale", "-m", "right").exit_code == 0
    assert fake_shop.call(*RUN, "scale").exit_code == 0
    return fake_shop


def forget(shop: Workshop) -> None:
    shutil.rmtree(shop.root / "cache/dumps")


def copies(shop: Workshop) -> list[str]:
    return sorted(path.name for path in (shop.root / "cache/dumps").rglob("*.zst"))


def changed(shop: Workshop) -> None:
    shop.job(("{float32: 2.0}", "{float32: 3.0}"))


def test_an_identical_run_downloads_nothing_and_a_difference_what_it_needs(far: Workshop) -> None:
    assert [path.name for path in (far.root / "baselines/scale/n=100").iterdir()] == ["baseline.yaml"]
    forget(far)
    (far.root / "objects").rename(far.root / "unplugged")
    assert far.call(*RUN, "scale").exit_code == 0
    assert copies(far) == []
    changed(far)
    result = far.call(*RUN, "scale")
    assert result.exit_code == 4
    assert "buffer out: its accepted dump file://" in result.output
    assert "is missing" in result.output
    (far.root / "unplugged").rename(far.root / "objects")
    result = far.call(*RUN, "scale")
    assert result.exit_code == 1
    assert "99 of 100" in result.output
    assert copies(far) == ["out.1.4.zst"]


def test_diff_review_and_inputs_fetch_what_they_read(far: Workshop) -> None:
    changed(far)
    far.write("kernels/scale.cu", KERNEL.replace("1.4", "1.5"))
    assert far.call(*RUN, "scale").exit_code == 1
    for before in ("baseline", "1.4"):
        forget(far)
        result = far.call("diff", before, "1.5", "scale")
        assert "99 of 100" in result.output, result.output
        assert copies(far) == ["out.1.4.zst"]
    forget(far)
    text = JOB.replace("fill: arange", 'fill: {file: "baseline:scale/n={n}/out"}')
    far.write("configs/next.yaml", text)
    assert far.call(*RUN, "next").exit_code == 1
    assert copies(far) == ["out.1.4.zst"]
    (dump,) = far.root.glob("runs/latest/dumps/next/n=100/out.*")
    assert dump.read_text().splitlines()[1:4] == ["0.0", "4.0", "8.0"]
    assert far.call("list").exit_code == 0
    assert far.call("show", "scale/n=100").exit_code == 0


@pytest.mark.parametrize("damage", ["cut", "other"])
def test_a_damaged_object_is_never_a_pass(far: Workshop, damage: str) -> None:
    forget(far)
    (kept,) = (far.root / "objects").rglob("*.zst")
    kept.write_bytes(kept.read_bytes()[:-3] if damage == "cut" else b"# gpuregress 1 float32 [1]\n1.0\n")
    changed(far)
    result = far.call(*RUN, "scale")
    assert result.exit_code == 4
    assert "buffer out: its accepted dump" in result.output
    assert "is damaged" in result.output


def test_a_folder_that_cannot_be_written_leaves_the_baseline(far: Workshop) -> None:
    manifest = (far.root / "baselines/scale/n=100/baseline.yaml").read_bytes()
    changed(far)
    assert far.call(*RUN, "scale").exit_code == 1
    far.write("gpuregress.yaml", f"folders: {{dumps: {far.root}/kernels/scale.cu/x}}\n")
    message = far.fails(4, "accept", "scale", "-m", "three")
    assert "buffer out: its dump" in message
    assert "cannot be uploaded" in message
    assert (far.root / "baselines/scale/n=100/baseline.yaml").read_bytes() == manifest


def test_a_bucket(fake_shop: Workshop, s3_folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(fake_shop.root / "cache"))
    fake_shop.write("gpuregress.yaml", f"folders: {{dumps: {s3_folder}}}\n")
    assert fake_shop.call(*RUN, "scale").exit_code == 1
    assert fake_shop.call("accept", "scale", "-m", "right").exit_code == 0
    forget(fake_shop)
    assert fake_shop.call(*RUN, "scale").exit_code == 0
    assert copies(fake_shop) == []
    changed(fake_shop)
    result = fake_shop.call(*RUN, "scale")
    assert result.exit_code == 1
    assert "99 of 100" in result.output
    assert copies(fake_shop) == ["out.1.4.zst"]
    texts = [path.read_text(errors="replace") for path in fake_shop.root.rglob("*") if path.is_file()]
    assert not any("secret-of-tests" in text or "access-of-tests" in text for text in texts)


@pytest.mark.parametrize("address", ["sftp://me:hunter22@host/x", "s3://me:hunter22/+x@bucket/x"])
def test_an_address_with_a_password_is_refused(fake_shop: Workshop, address: str) -> None:
    path = fake_shop.write("gpuregress.yaml", f"folders:\n  dumps: {address}\n")
    message = fake_shop.fails(2, *RUN, "scale")
    assert f"{path}:2: folders.dumps: holds a user's password; leave it out: credentials come from" in message
    assert "hunter22" not in message


@pytest.mark.parametrize("address", ["s3://", "file:///"])
def test_an_address_without_a_folder_is_refused(fake_shop: Workshop, address: str) -> None:
    """Else `s3:` would be a folder below the one in which the command is given."""
    path = fake_shop.write("gpuregress.yaml", f"folders:\n  dumps: {address}\n")
    message = fake_shop.fails(2, *RUN, "scale")
    assert f"{path}:2: folders.dumps: names no folder; expected an address such as s3://bucket/prefix" in message
