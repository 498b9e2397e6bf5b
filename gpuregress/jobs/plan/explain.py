"""Listing of a planned case, for `gpuregress show`."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpuregress.foundation.document import units
from gpuregress.foundation.records import (
    DEFAULT_HEAP,
    Argument,
    Buffer,
    Case,
    CheckSetting,
    KnownRows,
    Launch,
    Rule,
    Source,
    to_json,
)
from gpuregress.gpu.records import replace
from gpuregress.jobs.plan import seeds


def explain(case: Case) -> tuple[str, ...]:
    """List a case, line by line.

    Args:
        case: from `make`.
    """
    return tuple(_lines(case))


def _lines(case: Case) -> Iterator[str]:
    yield f"case      {case.name}"
    yield f"job       {case.path}"
    source, *others = case.sources
    yield f"source    {_source(source)}, revision {case.revision}"
    yield from (f"          {_source(other)}" for other in others)
    for one in case.sources:
        if one.python is not None:
            yield f"{one.python.language:<9} {', '.join(one.python.words) or one.python.function}"
    given = [*source.options, *(f"-D{name}={text}" if text else f"-D{name}" for name, text in source.defines.items())]
    given += [f"-I{folder}" for folder in source.include]
    yield f"compile   {shlex.join([source.arch, source.contract, *given])}"
    if source.card:
        yield f"card      {source.card}: the CPU device has its tensor cores"
    yield f"seed      {case.seed}"
    yield "buffers"
    for buffer in case.buffers.values():
        of = f" of {case.source_names[buffer.symbol_source]}" if buffer.symbol and others else ""
        yield f"  {_buffer(buffer, of)}"
    total = sum(buffer.size for buffer in case.buffers.values())
    yield f"  {units.size_text(total)} together"
    if case.function is not None:
        who = "by each block" if case.function.scope == "block" else "by each thread"
        yield f"function  {case.function.declared}, called {case.function.calls} times, {who}"
    yield "launches"
    for launch, run in itertools.groupby(case.launches):
        count = sum(1 for _ in run)
        of = f" in {case.source_names[launch.source]}" if others else ""
        yield f"  {_launch(launch, case.buffers, of)}{f'  x {count}' if count > 1 else ''}"
    yield f"dump      {', '.join(case.dump) or 'nothing'}"
    yield from _judgement(case)
    heap = case.limits.heap
    more = "" if heap == DEFAULT_HEAP else f", a heap of {units.size_text(heap)} for kernels"
    yield f"limits    {case.limits.timeout:g} s, {_memory(case.limits.memory)}{more}"
    yield f"devices   {', '.join(case.devices)}"
    if case.tags:
        yield f"tags      {', '.join(case.tags)}"
    if case.repeat > 1:
        yield f"repeat    {case.repeat} runs, compared with each other"
    if case.settings.schedules:
        yield f"schedules {', '.join(case.settings.schedules)}: compared with each other on the CPU device"
    if case.seeds:
        yield f"repeat    {seeds.describe(case)}"
    if case.variants:
        agree = ", which must agree" if case.variants.must_agree else ""
        yield f"variants  {'; '.join(case.variants.sources)}: compared with {case.variants.first}{agree}"
    for name, setting in to_json(replace(case.settings, on=(), schedules=())).items():
        yield f"{name:<9} {_options(setting)}"


def _source(source: Source) -> str:
    return source.path if source.python is None else f"{source.path}:{source.python.function}"


def _judgement(case: Case) -> Iterator[str]:
    for name, rule in case.compare.items():
        yield f"compare   {name}: {_rule(rule)}"
    if case.settings.instruments.checks:
        yield f"check     device: {', '.join(case.settings.instruments.checks)}"
    for name, checks in case.checks.items():
        shown = ", ".join(
            item.name if item.setting is None else f"{item.name} {_setting(item.setting)}" for item in checks
        )
        yield f"check     {name}: {shown}"
    for name in case.references:
        own = f"; {_rule(case.reference_rules[name])}" if name in case.reference_rules else ""
        accuracy = "; reports its accuracy" if name in case.improves else ""
        yield f"reference {name}: {_reference(case, name)}{own}{accuracy}"
        kernel = case.reference_kernels[name].source.python if name in case.reference_kernels else None
        if kernel is not None:
            yield f"          {kernel.language}: {', '.join(kernel.words) or kernel.function}"
        for launch in case.reference_kernels[name].launches if name in case.reference_kernels else ():
            yield f"            {_launch(launch, case.buffers)}"
    if case.status:
        named = ", ".join(f"{code}: {name}" for code, name in case.status_codes.items())
        yield f"status    {case.status}: all zero, or the case fails{f' ({named})' if named else ''}"
    if case.expect_fault:
        of = f" of {case.expect_kernel}" if case.expect_kernel else ""
        at = f" in launch {case.expect_launch + 1}" if case.expect_launch is not None else ""
        yield f"expect    a fault{of}{at}: {case.expect_fault}"
    known = case.settings.known_failing
    if known is not None:
        yield f"known     {known.failure}, until {known.until}: {known.why}"


def _reference(case: Case, name: str) -> str:
    path = case.reference.get(name) or case.reference_files.get(name)
    if path is not None:
        return path
    kernel = case.reference_kernels[name]
    source = _source(kernel.source)
    return f"{kernel.buffer} of {source}" if kernel.buffer else source


def _buffer(buffer: Buffer, of_source: str = "") -> str:
    filled = "output, poisoned"
    if buffer.fill is not None and buffer.fill.same is not None:
        filled = f"the same as {buffer.fill.same.name}"
    elif buffer.fill is not None:
        options = _options({name: item for name, item in to_json(buffer.fill.options).items() if name != "digest"})
        filled = f"{buffer.fill.kind}{f' ({options})' if options else ''}, seed {buffer.fill.seed}"
    symbol = f", symbol {buffer.symbol}{of_source}" if buffer.symbol else ""
    shape = ",".join(map(str, buffer.shape))
    size = units.size_text(buffer.size)
    return f"{buffer.name}: {buffer.dtype} [{shape}], {size}, {filled}{symbol}{_texture(buffer)}{_tensor_map(buffer)}"


def _texture(buffer: Buffer) -> str:
    """List the sampling of a buffer: `, texture (linear, border border clamp, normalized)`."""
    texture = buffer.texture
    if texture is None:
        return ""
    kind = [] if texture.kind == "plain" else [texture.kind]
    if texture.surface:
        return ", ".join(["", *kind, "surface"]).replace("layered, ", "layered ")
    modes = " ".join(texture.address[: 1 if texture.kind.startswith("cube") else len(buffer.shape) - len(kind)])
    normalized = ["normalized coordinates"] if texture.normalized else []
    read = ["read as normalized_float"] if texture.read != "element" else []
    memory = ["linear memory"] if texture.memory == "linear" else [texture.filter, modes]
    return f", texture ({', '.join([*kind, *memory, *normalized, *read])})"


def _tensor_map(buffer: Buffer) -> str:
    """Describe a buffer's tensor map: `, tensor map (box 64x64, swizzle 128B)`."""
    given = buffer.tensor_map
    if given is None:
        return ""
    words = [f"box {'x'.join(map(str, given.box[::-1]))}"]
    if given.im2col is not None:
        words = [f"im2col, {given.im2col.pixels} pixels of {given.im2col.channels}"]
    if given.extents[::-1] != buffer.shape:
        words.append(f"shape {'x'.join(map(str, given.extents[::-1]))}")
    settings = {"swizzle": given.swizzle, "interleave": given.interleave, "L2 promotion": given.l2_promotion}
    words += [f"{name} {value}" for name, value in settings.items() if value != "none"]
    words += ["fill nan"] if given.oob_fill == "nan" else []
    return f", tensor map ({', '.join(words)})"


def _launch(launch: Launch, buffers: Mapping[str, Buffer], of_source: str = "") -> str:
    grid, block = (f"({','.join(map(str, extents))})" for extents in (launch.grid, launch.block))
    args = ", ".join(_argument(item, buffers) for item in launch.args)
    swap = "".join(f", then {first} <-> {second}" for first, second in launch.swap)
    return f"{launch.kernel}<<<{grid},{block},{launch.shared}>>>({args}){of_source}{swap}"


def _argument(argument: Argument, buffers: Mapping[str, Buffer]) -> str:
    if argument.kind == "buffer":
        what = "map in memory " if argument.in_memory else "&map " if argument.as_map else ""
        offset = f"+{argument.offset}" if argument.offset else ""
        return f"{what}{argument.buffer}{offset}=<{buffers[argument.buffer].size}>"
    if argument.kind == "struct":
        return "{" + ", ".join(_argument(item, buffers) for item in argument.fields) + "}"
    return f"{argument.label}={argument.text}" if argument.label else argument.text


def _rule(rule: Rule) -> str:
    if rule.is_exact:
        return "every bit equal, in order"
    if rule.verify:
        tolerance = rule.tolerance
        given = [f"{name} {getattr(tolerance, name):g}" for name in ("rtol", "atol", "ulp") if getattr(tolerance, name)]
        return f"by {rule.verify}{f' with tolerance {chr(44).join(given)}' if given else ''}"
    words = []
    if rule.rtol is not None or rule.atol is not None:
        words.append(f"|actual - baseline| <= {rule.atol or 0:g} + {rule.rtol or 0:g} * |baseline|")
    if rule.ulp is not None:
        words.append(f"at most {rule.ulp} ulp apart")
    if rule.outliers:
        words.append(f"all but {rule.outliers.fraction:g} of them, and those within rtol {rule.outliers.rtol:g}")
    words += [f"{name} at most {limit:g}" for name, limit in rule.metric.items()]
    words += [f"{name} {_options(limit)}" for name, limit in to_json(rule.statistics).items()]
    words += [f"NaN {rule.nan} equal"] if rule.nan == "never" else []
    words += ["-0 equals 0"] if rule.signed_zero == "equal" else []
    words += [f"partners by {', '.join(rule.key)}"] if rule.key else []
    return "; ".join(words or ["every value equal"]) + (", in any order" if rule.order == "any" else ", in order")


def _memory(count: int) -> str:
    return f"{units.size_text(count)} of device memory" if count else "as much memory as the device has"


def _setting(setting: CheckSetting) -> str:
    return _options(to_json(setting.rows if isinstance(setting, KnownRows) else setting))


def _options(setting: Any) -> str:
    if isinstance(setting, Mapping):
        return ", ".join(f"{name} {_options(item)}" for name, item in setting.items())
    if isinstance(setting, Iterable) and not isinstance(setting, str):
        return f"[{', '.join(map(str, setting))}]"
    return str(setting)
