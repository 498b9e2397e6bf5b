"""Main program of a compiler process.

    python -m gpuregress.execution.workers.compile_child --channel FD

Parent to child: `{"do": "compile", "source": Source, "cubin": bool, "again": bool, "precompiled": folder}`; `again`
after a crash, the folder "" where headers are not precompiled. Child to parent:

    {"say": "compiled", "program": Program, "last": bool}
    {"say": "failed", …, "last": bool}           as `channel.encode_error` has it
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path

from gpuregress.execution.workers.channel import encode_error, of_child
from gpuregress.foundation import call_stack, process_state
from gpuregress.foundation.errors import GpuregressError, HarnessError
from gpuregress.foundation.interrupts import die_with_parent
from gpuregress.foundation.records import Source, from_json
from gpuregress.toolchain import cubin_linker, nvrtc, precompiled_headers, programs


def main(descriptor: int) -> None:
    """Compile the sources of a channel until it closes.

    Args:
        descriptor: of the channel's socket.
    """
    channel = of_child(descriptor)
    while (message := channel.receive()) is not None:
        source = from_json(Source, message["source"])
        precompiled = None
        if message["precompiled"] and not message["again"]:
            precompiled = Path(message["precompiled"]) / str(os.getpid())  # another process cannot read the files
        try:
            with nvrtc.asking_names_last(is_needed=message["again"]), precompiled_headers.precompiling(precompiled):
                program = programs.compile(source)
            program = cubin_linker.build_cubin(program) if message["cubin"] else program
            reply: Mapping[str, object] = {"say": "compiled", "program": program}
        except GpuregressError as error:
            reply = encode_error(error)
        except MemoryError:
            reply = encode_error(HarnessError(f"{source.path}: there is not enough memory to compile it"))
        except Exception as error:  # noqa: BLE001 - a bug of ours ends one compilation, not the run
            traceback.print_exc()
            reply = encode_error(HarnessError(f"an error inside gpuregress: {type(error).__name__}: {error}"))
        try:
            channel.send({**reply, "last": process_state.left_changed()})
        except (BrokenPipeError, ConnectionResetError):
            return  # the parent is gone


if __name__ == "__main__":
    die_with_parent()
    call_stack.call_with_room(lambda: main(int(sys.argv[sys.argv.index("--channel") + 1])))
    os._exit(0)  # taking Python apart costs 50 ms
