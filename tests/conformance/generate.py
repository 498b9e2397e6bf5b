"""The conformance suite's kernels: one PTX kernel a form, over edge values and random bits.

A kernel takes the number of lanes, its input buffers and its output buffers; thread i loads element i of each input,
executes the form, and stores the raw bits. A family's kernels share a module, so that one compilation serves many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpuregress.virtual_gpu.ptx.modifiers import BITS
from tests.conformance.catalog import machine
from tests.conformance.catalog.computing import FAMILIES, forms
from tests.conformance.catalog.form import Form

VERSION = "8.7"  # the first with all forms; nvJitLink 12.8 and later take it
BATCH = 100
EDGES = 3000
RANDOM = 1096

_HEAD = ".version {}\n.target {}\n.address_size 64\n"


@dataclass(frozen=True)
class Batch:
    """Some forms of a family: a module's worth.

    Attributes:
        name: `compare-100`.
        forms: kernel name → form.
        ptx: the module.
    """

    name: str
    forms: dict[str, Form]
    ptx: str


def batches() -> Iterator[Batch]:
    """All forms of the catalog."""
    for family in FAMILIES:
        known = forms(family)
        for start in range(0, len(known), BATCH):
            chosen = {f"k{index}": form for index, form in enumerate(known[start : start + BATCH], start)}
            yield Batch(f"{family}-{start}", chosen, module(chosen))


def machine_batches() -> Iterator[Batch]:
    """All forms by which threads meet and reach memory; one module a family."""
    for family in machine.FAMILIES:
        chosen = {f"k{index}": form for index, form in enumerate(machine.forms(family))}
        yield Batch(f"machine-{family}", chosen, module(chosen))


def module(chosen: dict[str, Form]) -> str:
    """The PTX of some kernels: name → form."""
    shared = ".shared .align 1024 .b8 cells[2048];\n" if any("cells" in form.text for form in chosen.values()) else ""
    target = "sm_90a" if any("wgmma" in form.text for form in chosen.values()) else "sm_90"
    return _HEAD.format(VERSION, target) + shared + "".join(kernel(name, form) for name, form in chosen.items())


def size(kind: str) -> int:
    """Bytes of an element of a type in a buffer."""
    return max(BITS[kind], 8) // 8


def kernel(name: str, form: Form) -> str:
    """A form's kernel."""
    buffers = [*form.inputs.items(), *form.outputs.items()]
    parameters = ",\n".join(["  .param .u32 lanes", *(f"  .param .u64 p{index}" for index in range(len(buffers)))])
    lines = [
        "ld.param.u32 %lanes, [lanes];",
        "mov.u32 %tid, %tid.x;",
        "mov.u32 %block, %ctaid.x;",
        "mov.u32 %blocksize, %ntid.x;",
        "mad.lo.u32 %lane, %block, %blocksize, %tid;",
        "setp.ge.u32 %outside, %lane, %lanes;",
        "@%outside ret;",
    ]
    lines = [re.sub(r"%(tid|block|lane|lanes|blocksize|outside)\b(?!\.)", r"%x_\1", line) for line in lines]
    for index, (_, kind) in enumerate(buffers):
        lines += [
            f"ld.param.u64 %x_address{index}, [p{index}];",
            f"cvta.to.global.u64 %x_address{index}, %x_address{index};",
            f"mad.wide.u32 %x_address{index}, %x_lane, {size(kind)}, %x_address{index};",
        ]
    for index, (register, kind) in enumerate(buffers[: len(form.inputs)]):
        lines += _load(register, kind, index)
    lines += [f"{line};" for line in form.text.splitlines()]
    for index, (register, kind) in enumerate(buffers[len(form.inputs) :], len(form.inputs)):
        lines += _store(register, kind, index)
    body = "\n".join(f"  {line}" for line in (*_declarations(form, len(buffers)), *lines, "ret;"))
    clusters = f".explicitcluster\n.reqnctapercluster {form.cluster}, 1, 1\n" if form.cluster else ""
    return f"\n// {form.name}\n.visible .entry {name}(\n{parameters}\n)\n{clusters}{{\n{body}\n}}\n"


def _declarations(form: Form, buffers: int) -> list[str]:
    own = [f".reg .u32 %x_{name};" for name in ("lanes", "tid", "block", "blocksize", "lane")]
    own += [".reg .pred %x_outside;", ".reg .u16 %x_byte;"]
    own += [f".reg .u64 %x_address{index};" for index in range(buffers)]
    registers = {**form.inputs, **form.outputs, **form.scratch}
    return own + [f".reg .{_register(kind)} {name};" for name, kind in registers.items()]


def _register(kind: str) -> str:
    return kind if kind in ("pred", "f32", "f64") or kind[0] in "us" else f"b{BITS[kind]}"


def _load(register: str, kind: str, index: int) -> list[str]:
    if kind == "pred":
        return [f"ld.global.u8 %x_byte, [%x_address{index}];", f"setp.ne.u16 {register}, %x_byte, 0;"]
    return [f"ld.global.b{BITS[kind]} {register}, [%x_address{index}];"]


def _store(register: str, kind: str, index: int) -> list[str]:
    if kind == "pred":
        return [f"selp.u16 %x_byte, 1, 0, {register};", f"st.global.u8 [%x_address{index}], %x_byte;"]
    return [f"st.global.b{BITS[kind]} [%x_address{index}], {register};"]
