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
    Check,
    KnownRows,
    Launch,
    Limits,
    Rule,
    Source,
    WholeProgram,
    rule_text,
    to_json,
)
from gpuregress.gpu.records import replace
from gpuregress.jobs.plan import variations


def explain(case: Case) -> tuple[str, ...]:
    """List a case, line by line.

    Args:
        case: from `make`.
    """
    return tuple(_lines(case))


def _lines(case: Case) -> Iterator[str]:
    yield f"case      {case.name}"
    yield f"job       {case.path}"
    if case.program is not None:
        yield from _of_program(case, case.program)
        return
    source, *others = case.sources
    yield f"source    {_source(source)}, revision {case.revision}"
    for other in others:
        yield f"          {_source(other)}"
    for compiled in case.sources:
        if compiled.python is not None:
            yield f"{compiled.python.language:<9} {', '.join(compiled.python.words) or compiled.python.function}"
    yield f"compile   {shlex.join(_compilation(source))}"
    if source.card:
        yield f"card      {source.card}: the CPU device emulates its tensor cores"
    yield f"seed      {case.seed}"
    yield "buffers"
    for buffer in case.buffers.values():
        of_source = f" of {case.source_names[buffer.symbol_source]}" if others else ""
        yield f"  {_buffer(buffer, of_source)}"
    total = sum(buffer.size for buffer in case.buffers.values())
    yield f"  {units.size_text(total)} together"
    if case.function is not None:
        yield f"function  {case.function.declared}, called {case.function.calls} times, by each {case.function.scope}"
    yield "launches"
    for launch, repetitions in itertools.groupby(case.launches):
        count = len(list(repetitions))
        of_source = f" in {case.source_names[launch.source]}" if others else ""
        times = f"  x {count}" if count > 1 else ""
        yield f"  {_launch(launch, case.buffers)}{of_source}{_swap(launch)}{times}"
    yield f"dump      {', '.join(case.dump) or 'nothing'}"
    yield from _judgement(case)
    yield f"limits    {_limits(case.limits)}"
    yield f"devices   {', '.join(case.devices)}"
    yield from _labels(case)
    yield from _repetitions(case)
    if case.settings.overridden:
        yield f"set       {', '.join(case.settings.overridden)} by --set: the case has no baseline"
    for name, setting in to_json(replace(case.settings, on=(), schedules=(), overridden=())).items():
        yield f"{name:<9} {_options(setting)}"


def _of_program(case: Case, program: WholeProgram) -> Iterator[str]:
    """List a case that runs a whole program."""
    yield f"program   {shlex.join(program.command)}"
    yield f"folder    {program.folder}"
    for name, value in program.environment.items():
        yield f"variable  {name}={value}"
    for number, file in enumerate(case.source.files):
        yield f"source    {file}{f', revision {case.revision}' if number == 0 else ''}"
    for name, dtype in program.dtypes.items():
        yield f"dtype     {name}: {dtype}"
    when = "when they are freed, or the program ends"
    if program.dumps == "synchronize":
        when = "whenever the program waits for the GPU after a launch"
    yield f"dump      {', '.join(program.dump)}: {when}"
    yield from _judgement(replace(case, compare=program.compare))
    yield f"limits    {_limits(case.limits)}"
    yield f"devices   {', '.join(case.devices)}"
    yield from _labels(case)
    yield from _repetitions(replace(case, settings=replace(case.settings, schedules=())))


def _labels(case: Case) -> Iterator[str]:
    if case.tags:
        yield f"tags      {', '.join(case.tags)}"
    if case.owners:
        yield f"owners    {', '.join(case.owners)}"


def _compilation(source: Source) -> list[str]:
    """List the architecture and the options of a source as a compiler's command line has them."""
    words = [source.arch, source.contract, *source.options]
    for name, text in source.defines.items():
        words.append(f"-D{name}={text}" if text else f"-D{name}")
    words += [f"-I{folder}" for folder in source.include]
    return words


def _limits(limits: Limits) -> str:
    memory = "as much memory as the device has"
    if limits.memory:
        memory = f"{units.size_text(limits.memory)} of device memory"
    heap = ""
    if limits.heap != DEFAULT_HEAP:
        heap = f", a heap of {units.size_text(limits.heap)} for kernels"
    return f"{limits.timeout:g} s, {memory}{heap}"


def _repetitions(case: Case) -> Iterator[str]:
    """List what the case's results are compared with beside the baseline: repetitions, schedules, seeds, variants."""
    if case.repeat > 1:
        yield f"repeat    {case.repeat} runs, compared with each other"
    if case.settings.schedules:
        yield f"schedules {', '.join(case.settings.schedules)}: compared with each other on the CPU device"
    if case.seeds:
        yield f"repeat    {variations.describe(case)}"
    if case.variants:
        agree = ", which must agree" if case.variants.must_agree else ""
        yield f"variants  {'; '.join(case.variants.sources)}: compared with {case.variants.first}{agree}"


def _source(source: Source) -> str:
    return source.path if source.python is None else f"{source.path}:{source.python.function}"


def _judgement(case: Case) -> Iterator[str]:
    for name, rule in case.compare.items():
        yield f"compare   {name}: {_rule(rule)}"
    if case.settings.instruments.checks:
        yield f"check     device: {', '.join(case.settings.instruments.checks)}"
    for name, checks in case.checks.items():
        yield f"check     {name}: {', '.join(map(_check, checks))}"
    for name in case.references:
        yield from _reference(case, name)
    if case.status:
        named = ", ".join(f"{code}: {name}" for code, name in case.status_codes.items())
        codes = f" ({named})" if named else ""
        yield f"status    {case.status}: all zero, or the case fails{codes}"
    if case.expect_fault:
        kernel = f" of {case.expect_kernel}" if case.expect_kernel else ""
        launch = f" in launch {case.expect_launch + 1}" if case.expect_launch is not None else ""
        yield f"expect    a fault{kernel}{launch}: {case.expect_fault}"
    known = case.settings.known_failing
    if known is not None:
        yield f"known     {known.failure}, until {known.until}: {known.why}"


def _check(check: Check) -> str:
    if check.setting is None:
        return check.name
    setting = check.setting.rows if isinstance(check.setting, KnownRows) else check.setting
    return f"{check.name} {_options(to_json(setting))}"


def _reference(case: Case, name: str) -> Iterator[str]:
    kernels = case.reference_kernels.get(name)
    rule = f"; {_rule(case.reference_rules[name])}" if name in case.reference_rules else ""
    accuracy = "; reports its accuracy" if name in case.improves else ""
    origin = case.reference.get(name) or case.reference_files.get(name)
    if origin is None and kernels is not None:
        origin = _source(kernels.source)
        if kernels.buffer:
            origin = f"{kernels.buffer} of {origin}"
    yield f"reference {name}: {origin}{rule}{accuracy}"
    if kernels is None:
        return
    python = kernels.source.python
    if python is not None:
        yield f"          {python.language}: {', '.join(python.words) or python.function}"
    for launch in kernels.launches:
        yield f"            {_launch(launch, case.buffers)}{_swap(launch)}"


def _buffer(buffer: Buffer, of_source: str) -> str:
    fill = buffer.fill
    if fill is None:
        filled = "output, poisoned"
    elif fill.same is not None:
        filled = f"the same as {fill.same.name}"
    else:
        options = to_json(fill.options)
        options.pop("digest", None)
        shown_options = f" ({_options(options)})" if options else ""
        filled = f"{fill.kind}{shown_options}, seed {fill.seed}"
    symbol = f", symbol {buffer.symbol}{of_source}" if buffer.symbol else ""
    shape = ",".join(map(str, buffer.shape))
    size = units.size_text(buffer.size)
    return f"{buffer.name}: {buffer.dtype} [{shape}], {size}, {filled}{symbol}{_texture(buffer)}{_tensor_map(buffer)}"


def _texture(buffer: Buffer) -> str:
    """List the sampling of a buffer: `, texture (linear, border border clamp, normalized)`."""
    texture = buffer.texture
    if texture is None:
        return ""
    is_plain = texture.kind == "plain"
    if texture.surface:
        if is_plain:
            return ", surface"
        separator = " " if texture.kind.endswith("layered") else ", "
        return f", {texture.kind}{separator}surface"
    words: list[str] = []
    axes = len(buffer.shape)
    if not is_plain:
        words.append(texture.kind)
        axes -= 1
    if texture.kind.startswith("cube"):
        axes = 1
    if texture.memory == "linear":
        words.append("linear memory")
    else:
        words += [texture.filter, " ".join(texture.address[:axes])]
    if texture.normalized:
        words.append("normalized coordinates")
    if texture.read != "element":
        words.append("read as normalized_float")
    return f", texture ({', '.join(words)})"


def _tensor_map(buffer: Buffer) -> str:
    """Describe a buffer's tensor map: `, tensor map (box 64x64, swizzle 128B)`."""
    tensor_map = buffer.tensor_map
    if tensor_map is None:
        return ""
    words = [f"box {'x'.join(map(str, tensor_map.box[::-1]))}"]
    if tensor_map.im2col is not None:
        words = [f"im2col, {tensor_map.im2col.pixels} pixels of {tensor_map.im2col.channels}"]
    shape = tensor_map.extents[::-1]
    if shape != buffer.shape:
        words.append(f"shape {'x'.join(map(str, shape))}")
    if tensor_map.swizzle != "none":
        words.append(f"swizzle {tensor_map.swizzle}")
    if tensor_map.interleave != "none":
        words.append(f"interleave {tensor_map.interleave}")
    if tensor_map.l2_promotion != "none":
        words.append(f"L2 promotion {tensor_map.l2_promotion}")
    if tensor_map.oob_fill == "nan":
        words.append("fill nan")
    return f", tensor map ({', '.join(words)})"


def _launch(launch: Launch, buffers: Mapping[str, Buffer]) -> str:
    grid = ",".join(map(str, launch.grid))
    block = ",".join(map(str, launch.block))
    arguments = ", ".join(_argument(argument, buffers) for argument in launch.args)
    return f"{launch.kernel}<<<({grid}),({block}),{launch.shared}>>>({arguments})"


def _swap(launch: Launch) -> str:
    return "".join(f", then {first} <-> {second}" for first, second in launch.swap)


def _argument(argument: Argument, buffers: Mapping[str, Buffer]) -> str:
    if argument.kind == "buffer":
        kind = ""
        if argument.in_memory:
            kind = "map in memory "
        elif argument.as_map:
            kind = "&map "
        offset = f"+{argument.offset}" if argument.offset else ""
        return f"{kind}{argument.buffer}{offset}=<{buffers[argument.buffer].size}>"
    if argument.names:
        members = zip(argument.names, argument.fields, strict=True)
        return "{" + ", ".join(f"{name}: {_argument(member, buffers)}" for name, member in members) + "}"
    if argument.kind == "struct":
        return "{" + ", ".join(_argument(member, buffers) for member in argument.fields) + "}"
    return f"{argument.label}={argument.text}" if argument.label else argument.text


def _rule(rule: Rule) -> str:
    """A rule in the words of reports, with the tolerance that a function of the user gets."""
    text = rule_text(rule)
    for name in ("rtol", "atol", "ulp"):
        limit = getattr(rule.tolerance, name)
        if rule.verify and limit:
            text += f", {name} {limit:g}"
    return text


def _options(setting: Any) -> str:
    if isinstance(setting, Mapping):
        return ", ".join(f"{name} {_options(item)}" for name, item in setting.items())
    if isinstance(setting, Iterable) and not isinstance(setting, str):
        return f"[{', '.join(map(str, setting))}]"
    return str(setting)
