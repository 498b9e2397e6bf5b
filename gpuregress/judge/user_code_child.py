"""`python -m gpuregress.judge.user_code_child --channel FD LABEL`: calls the user's functions."""

from __future__ import annotations

import faulthandler
import importlib
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Any

from gpuregress.execution.workers.channel import Message, of_child
from gpuregress.foundation import process_state
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.interrupts import die_with_parent
from gpuregress.foundation.numeric import float_environment
from gpuregress.foundation.records import Comparison, from_json
from gpuregress.judge import case_comparisons
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.judge.user_code import UserCodeRequest

_NEEDED = (
    "gpuregress.judge.compare.checks",
    "gpuregress.judge.compare.user_functions",
    "gpuregress.store.dumps.reader",
)


def main(arguments: Sequence[str]) -> int:
    """Serve one parent until it goes away."""
    die_with_parent()
    faulthandler.enable()
    channel = of_child(int(arguments[arguments.index("--channel") + 1]))
    for name in _NEEDED:  # loading them is not the user's time
        importlib.import_module(name)
    channel.send({"say": "ready"})
    while (message := channel.receive()) is not None:
        threads = threading.active_count()
        reply = _reply(message)
        # What a function left running would run beside the next one.
        is_left = threading.active_count() > threads or process_state.left_changed()
        sys.stdout.flush()
        channel.send({**reply, "last": is_left})
        if is_left:
            os._exit(0)
    return 0


def _reply(message: Message) -> dict[str, Any]:
    try:
        return {"comparison": _result(from_json(UserCodeRequest, message["call"]))}
    except GpuregressError as error:
        return {"bug": str(error)}
    except Exception as error:  # noqa: BLE001 - the parent must know it, whatever it is
        traceback.print_exc()
        return {"bug": f"an error inside gpuregress while comparing: {type(error).__name__}: {error}"}


@float_environment.default()
def _result(call: UserCodeRequest) -> Comparison:
    if call.check is not None:
        return case_comparisons.check(call.case, call.actual, call.check)
    assert call.expected is not None, "a comparison has two dumps"
    return BufferPair(call.case, call.against, call.expected, call.actual, call.rule).compare()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
