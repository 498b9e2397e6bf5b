"""Messages between the client and the hosts of a cluster; they travel as JSON.

A case needs one request and one reply; those of short cases travel in batches. A host that lacks files replies with
their digests; the client sends them and asks again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import field

from gpuregress.foundation.records import Outcome, from_json, to_plain
from gpuregress.gpu.records import Record

PIECE = 4 << 20
"""Bytes of a file that travel at a time."""
LONGEST_BATCH_S = 1.0
"""After this time a host begins no further case of a batch: one case that takes long delays no other."""


class SentFile(Record):
    """A file that a case reads.

    Attributes:
        path: on the client, absolute.
        digest: xxh3-128 of its bytes, hexadecimal.
        size: bytes.
    """

    path: str
    digest: str
    size: int


class CaseRequest(Record):
    """One case for one host.

    Attributes:
        run: name of the run, unique among all runs of all clients.
        worker: identity of the Dask worker that is meant; one that was restarted under the same address refuses.
        case: name of the case.
        task: the `Task` as JSON, with the client's paths.
        folder: the run's folder on the client, where the paths of dumps begin.
        device: what the worker process opens: `cpu` or `cuda:0`.
        label: the device and its host in messages: `cpu@node1`.
        environment: what is added to the worker process's environment.
        command: starts a worker process; empty: the usual one.
        files: that the case reads.
        folders: further paths of the client that appear in the task: include folders, the job.
        known: buffer → digests of raw bytes that the client has as a dump; these are not sent.
    """

    run: str
    worker: str
    case: str
    task: Mapping[str, Any]
    folder: str
    device: str
    label: str
    environment: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    files: tuple[SentFile, ...] = ()
    folders: tuple[str, ...] = ()
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class DumpFile(Record):
    """A file that a case wrote.

    Attributes:
        path: below the run's folder, with slashes.
        size: bytes.
        digest: xxh3-128 of its bytes, hexadecimal; "" where it is not sent.
        how: `inline`: its bytes are beside the reply; `kept`: the client fetches it; `known`: the client has it.
    """

    path: str
    size: int
    digest: str
    how: Literal["inline", "kept", "known"]


class CaseReply(Record):
    """The reply to a request.

    Attributes:
        kind: `done`; `missing`: files are lacking; `stale`: another worker has the address now; `failed`: the host
            could not start the case; `unusable`: its device cannot be used, for this case or another.
        outcome: of `done`, with the client's paths.
        log: the lines of the launch log.
        files: what the case wrote, in the order of their paths.
        missing: digests of files that the host lacks.
        message: why, for `failed` and `unusable`.
    """

    kind: Literal["done", "missing", "stale", "failed", "unusable"]
    outcome: Outcome | None = None
    log: str = ""
    files: tuple[DumpFile, ...] = ()
    missing: tuple[str, ...] = ()
    message: str = ""


class HostFacts(Record):
    """What a Dask worker says of itself and of its host.

    Attributes:
        worker: its identity, new with each process.
        host: the host's name.
        store: identity of the folder in which it keeps files; workers of one host have one.
        code: digest of the package's modules.
        architectures: of the host's GPUs, in order; asked for only where it declares GPUs.
        cpu_lack: why the CPU device cannot be used there, and the command that fixes it; "" where it can.
    """

    worker: str
    host: str
    store: str
    code: str
    architectures: tuple[str, ...] = ()
    cpu_lack: str = ""


def encode(message: CaseRequest | CaseReply) -> bytes:
    """Encode a message."""
    return json.dumps(to_plain(message), separators=(",", ":")).encode()


def request_of(data: bytes) -> CaseRequest:
    """Decode a request.

    Raises:
        ValueError, TypeError: it is none.
    """
    return from_json(CaseRequest, json.loads(data))


def reply_of(data: bytes) -> CaseReply:
    """Decode a reply.

    Raises:
        ValueError, TypeError: it is none.
    """
    return from_json(CaseReply, json.loads(data))
