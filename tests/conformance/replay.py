"""Runs the conformance kernels on a device, and records or compares the digests of what they store.

    python -m tests.conformance.replay record cuda:0 digests.json      on the GPU whose bits are the truth
    python -m tests.conformance.replay compare cpu digests.json        names the opcodes that are off
    python -m tests.conformance.replay bits cuda:0 FOLDER [FORM …]     every operand and result, as .npz, to look at

A digest is the first 16 hex digits of the sha256 of a form's output buffers, one after the other.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records import LaunchShape, Program
from gpuregress.gpu.base import Device, DeviceModule
from gpuregress.toolchain import ptx_declarations
from tests.conformance.catalog.form import Form
from tests.conformance.generate import EDGES, RANDOM, Batch, batches, machine_batches, size
from tests.virtual_gpu.isa.samples import operands

Array = npt.NDArray[Any]
DIGESTS = Path(__file__).with_name("digests.json")
BLOCK = 128

# What hardware leaves open: form → why the card's bits are not promised. docs/explanation/cpu-device.md repeats it.
OPEN: dict[str, str] = {}

# Forms that the card was not asked for yet: to be recorded.
UNASKED: frozenset[str] = frozenset()


def seed_of(form: Form) -> int:
    """A form's own seed, the same wherever it stands in the catalog."""
    return int.from_bytes(hashlib.sha256(form.name.encode()).digest()[:4], "little")


def inputs(form: Form) -> list[Array]:
    """The operands of a form: one array a register."""
    arrays = operands(form, seed_of(form), count=EDGES, random=RANDOM)
    if form.whole:
        step = BLOCK * max(1, form.cluster)
        arrays = [array[: len(array) // step * step] for array in arrays]
    return [array.astype(f"<u{size(kind)}") for array, kind in zip(arrays, form.inputs.values(), strict=True)]


def execute(device: Device, module: DeviceModule, name: str, form: Form, given: list[Array]) -> list[Array]:
    """Run a form's kernel on operands; return the results."""
    lanes = len(given[0])
    buffers = []
    for register, array in zip(form.inputs, given, strict=True):
        memory = device.allocate(register, array.nbytes, itemsize=array.itemsize)
        memory.write(array.view(np.uint8))
        buffers.append(memory)
    outputs = []
    for register, kind in form.outputs.items():
        memory = device.allocate(register, lanes * size(kind), itemsize=size(kind))
        memory.write(np.full(lanes * size(kind), 0xA5, np.uint8))
        outputs.append(memory)
    arguments = (struct.pack("<I", lanes), *(struct.pack("<Q", memory.address) for memory in (*buffers, *outputs)))
    device.launch(module, name, LaunchShape((-(-lanes // BLOCK), 1, 1), (BLOCK, 1, 1)), arguments)
    return [memory.read().view(f"<u{size(kind)}") for memory, kind in zip(outputs, form.outputs.values(), strict=True)]


def digest(results: list[Array]) -> str:
    """The digest of a form's results."""
    return hashlib.sha256(b"".join(array.tobytes() for array in results)).hexdigest()[:16]


def program(batch: Batch, folder: Path, build: Callable[[Program], Program] | None = None) -> Program:
    """A batch's PTX as a program; `build` makes a cubin of it for a GPU."""
    path = folder / f"{batch.name}.ptx"
    path.write_text(batch.ptx, encoding="utf-8")
    key = hashlib.sha256(batch.ptx.encode()).hexdigest()
    module = ptx_declarations.parse(batch.ptx)
    made = Program(key, str(path), "", module.entries, {}, "none", (), module.target)
    return build(made) if build else made


def results_of(
    device: Device, batch: Batch, build: Callable[[Program], Program] | None = None
) -> Iterator[tuple[Form, list[Array], list[Array] | GpuregressError]]:
    """Every form of a batch with its operands and its results, or the error of a device that cannot run it."""
    with tempfile.TemporaryDirectory() as folder:
        module = device.load(program(batch, Path(folder), build))
        for name, form in batch.forms.items():
            given = inputs(form)
            try:
                results = execute(device, module, name, form, given)
            except GpuregressError as error:
                yield form, given, error
            else:
                yield form, given, results
        device.free_all()


def record(device: Device, build: Callable[[Program], Program] | None = None) -> dict[str, str]:
    """Form → digest, of all forms; a form that fails has its error's text."""
    actual = {}
    for batch in (*batches(), *machine_batches()):
        for form, _, results in results_of(device, batch, build):
            actual[form.name] = str(results) if isinstance(results, GpuregressError) else digest(results)
    return actual


def main(arguments: list[str]) -> int:
    """The command line; see the module's docstring."""
    from gpuregress.execution.device_registry import open_device  # noqa: PLC0415 - heavy, and generating needs none

    command, name, target, *chosen = arguments
    build: Callable[[Program], Program] | None = None
    if name.startswith("cuda"):
        from gpuregress.toolchain.cubin_linker import build_cubin  # noqa: PLC0415 - heavy

        build = build_cubin
    with open_device(name) as device:
        if command == "bits":
            _save_bits(device, Path(target), set(chosen), build)
            return 0
        actual = record(device, build)
    if command == "record":
        Path(target).write_text(json.dumps(actual, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    known = json.loads(Path(target).read_text(encoding="utf-8"))
    unasked = [form for form in actual if form not in known]
    wrong = [form for form, value in actual.items() if known.get(form, value) != value]
    equal = len(actual) - len(wrong) - len(unasked)
    message = f"{equal} of {len(actual)} forms equal, {len(unasked)} not asked"
    sys.stdout.write("\n".join((message, *wrong)) + "\n")
    return int(bool(wrong))


def _save_bits(device: Device, folder: Path, chosen: set[str], build: Callable[[Program], Program] | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for batch in (*batches(), *machine_batches()):
        if chosen and not chosen & {form.name for form in batch.forms.values()}:
            continue
        arrays: dict[str, Array] = {}
        for form, given, results in results_of(device, batch, build):
            if (chosen and form.name not in chosen) or isinstance(results, GpuregressError):
                continue
            registers = (*form.inputs, *form.outputs)
            for register, array in zip(registers, (*given, *results), strict=True):
                arrays[f"{form.name}/{register}"] = array
        np.savez_compressed(folder / f"{batch.name}.npz", **arrays)  # type: ignore[arg-type] # numpy's stub takes no mapping


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
