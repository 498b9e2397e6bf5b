"""Main program of a compiler process.

    python -m gpuregress.execution.workers.compile_child --channel FD

Parent to child: `{"do": "compile", "sources": [Source, …], "cubin": bool, "again": bool, "precompiled": folder,
"processes": int}`; `again` after a crash, the folder "" where headers are not precompiled. Child to parent, for each
source, in any order:

    {"say": "compiled", "number": int, "program": Program, "last": bool}
    {"say": "failed", "number": int, …, "last": bool}           as `channel.encode_error` has it

Several sources are divided among processes that this one forks. All can read the precompiled headers of the others,
which are bound to addresses of memory that forked processes have in common.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gpuregress.execution.workers.channel import encode_error, of_child
from gpuregress.foundation import call_stack, process_state
from gpuregress.foundation.errors import GpuregressError, HarnessError
from gpuregress.foundation.interrupts import die_with_parent
from gpuregress.foundation.records import Source, from_json, to_plain
from gpuregress.toolchain import cubin_linker, nvrtc, precompiled_headers, programs


def main(descriptor: int) -> None:
    """Compile the sources of a channel until it closes.

    Args:
        descriptor: of the channel's socket.
    """
    channel = of_child(descriptor)
    nvrtc.preload()
    while (message := channel.receive()) is not None:
        sources = [from_json(Source, source) for source in message["sources"]]
        precompiled = None
        if message["precompiled"] and not message["again"]:
            precompiled = Path(message["precompiled"]) / str(os.getpid())  # another process cannot read the files
        request = _Request(sources, precompiled, cubin=message["cubin"], asks_names_last=message["again"])
        try:
            for reply in _replies(request, message["processes"]):
                channel.send({**reply, "last": process_state.left_changed()})
        except (BrokenPipeError, ConnectionResetError):
            return  # the parent is gone


@dataclass(frozen=True)
class _Request:
    """Sources, the folder of precompiled headers, and how they are compiled."""

    sources: Sequence[Source]
    precompiled: Path | None
    cubin: bool
    asks_names_last: bool

    def reply(self, number: int) -> Mapping[str, object]:
        """Compile a source.

        Args:
            number: of the source.
        """
        source = self.sources[number]
        names = nvrtc.asking_names_last(is_needed=self.asks_names_last)
        try:
            with names, precompiled_headers.precompiling(self.precompiled):
                program = programs.compile(source)
            program = cubin_linker.build_cubin(program) if self.cubin else program
            reply: Mapping[str, object] = {"say": "compiled", "program": program}
        except GpuregressError as error:
            reply = encode_error(error)
        except MemoryError:
            reply = encode_error(HarnessError(f"{source.path}: there is not enough memory to compile it"))
        except Exception as error:  # noqa: BLE001 - a bug of ours ends one compilation, not the run
            traceback.print_exc()
            reply = encode_error(HarnessError(f"an error inside gpuregress: {type(error).__name__}: {error}"))
        return {**reply, "number": number}


def _replies(request: _Request, processes: int) -> Iterator[Mapping[str, object]]:
    """Compile the sources of a request, several at a time.

    Args:
        request: the sources.
        processes: that may compile at a time.
    """
    order = range(len(request.sources))
    missing = set(order)
    reader, writer = os.pipe()
    os.write(writer, bytes(order))
    os.close(writer)
    numbers = (byte[0] for byte in iter(lambda: os.read(reader, 1), b""))  # each goes to one process

    def reply(number: int) -> Mapping[str, object]:
        missing.discard(number)
        return request.reply(number)

    first = list(itertools.islice(numbers, 1))  # what only this process knows then serves the next request
    helpers = [_start_helper(request, numbers) for _ in range(min(processes, len(missing)) - 1)]
    for number in itertools.chain(first, numbers):
        yield reply(number)
    os.close(reader)
    for process, answers in helpers:
        os.waitpid(process, 0)
        with answers:
            answers.seek(0)
            for line in answers:
                if not line.endswith("\n"):
                    break
                answer = json.loads(line)
                precompiled_headers.learn(answer["learned"])
                missing.discard(answer["reply"]["number"])
                yield answer["reply"]
    for number in sorted(missing):  # of a helper that died
        yield reply(number)


def _start_helper(request: _Request, numbers: Iterator[int]) -> tuple[int, IO[str]]:
    """Fork a process that compiles sources of a request.

    Returns:
        Its identifier, and the file that gets its replies, one a line, and with them what it learned.
    """
    answers = tempfile.TemporaryFile("w+")  # noqa: SIM115 - its reader closes it
    process = os.fork()
    if process:
        return process, answers
    try:
        die_with_parent()
        for number in numbers:
            reply = to_plain(request.reply(number))
            answers.write(json.dumps({"reply": reply, "learned": precompiled_headers.learned()}) + "\n")
            answers.flush()
            if precompiled_headers.lacks_some() and not request.sources[number].harness:
                break  # another process parses the headers of kernels once for all of them
    finally:
        os._exit(0)


if __name__ == "__main__":
    die_with_parent()
    call_stack.call_with_room(lambda: main(int(sys.argv[sys.argv.index("--channel") + 1])))
    os._exit(0)  # taking Python apart costs 50 ms
