"""Projects in git repositories, and all that a command must leave alone in them."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from tests.workshop import Workshop

IDENTITY = ("-c", "user.name=A. Author", "-c", "user.email=author@example.org", "-c", "commit.gpgSign=false")


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *IDENTITY, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def start(root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main")


def commit(root: Path, subject: str) -> str:
    """Commit all that is there; the commit's hash."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", subject)
    return git(root, "rev-parse", "HEAD").strip()


def factors(shop: Workshop, *values: str) -> list[str]:
    """One commit for each factor that the job passes; their hashes."""
    start(shop.root)
    hashes = []
    for number, value in enumerate(values):
        shop.job(("{float32: 2.0}", f"{{float32: {value}}}"))
        hashes.append(commit(shop.root, f"Commit {number}"))
    return hashes


def faulting(shop: Workshop, *changes: tuple[str, str]) -> None:
    """Make the job launch the fake device's kernel that faults."""
    shop.write("kernels/scale.cu", 'extern "C" __global__ void fault(float *out, const float *x) {}\n')
    shop.job(
        ("kernel: scale", "kernel: fault"), ("args: [out, x, {float32: 2.0}, {int32: n}]", "args: [out, x]"), *changes
    )


def everything(root: Path) -> dict[str, str]:
    """Every file below a folder, also those of `.git`, with the digest of its content."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
