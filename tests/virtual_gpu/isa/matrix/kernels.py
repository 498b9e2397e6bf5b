"""Kernels of one matrix instruction."""

from __future__ import annotations


def mma_kernel(
    name: str, counts: tuple[int, int, int], kinds: tuple[str, str, str], *, results: int = 0, sparse: bool = False
) -> str:
    """PTX that loads A, B and C of each lane from three buffers and stores D into the fourth.

    Args:
        name: the instruction, to its types.
        counts: registers of A, B, C.
        kinds: their types.
        results: registers of D, if not as many as of C.
        sparse: whether there is a fifth buffer, with a register of metadata of each lane; the selector is 0.
    """
    results = results or counts[2]
    lines, names = [], []
    metadata = [(1, "b32")] if sparse else []
    operands = [*zip(counts, kinds, strict=True), (results, kinds[2]), *metadata]
    for place, (count, kind) in enumerate(operands):
        register = "abcde"[place]
        lines.append(f".reg .{kind} %{register}<{count}>; .reg .u64 %p{place};")
        lines.append(f"ld.param.u64 %p{place}, [p{place}]; cvta.to.global.u64 %p{place}, %p{place};")
        size = count * (8 if kind == "f64" else 4)
        lines.append(f"mad.wide.u32 %p{place}, %lane, {size}, %p{place};")
        names.append([f"%{register}{number}" for number in range(count)])
        step = size // count
        loaded = [] if place == 3 else names[-1]
        lines += [f"ld.global.{kind} {item}, [%p{place}+{step * number}];" for number, item in enumerate(loaded)]
    vectors = [f"{{{', '.join(names[place])}}}" for place in (3, 0, 1, 2)]
    selected = ", %e0, 0x0" if sparse else ""
    lines.append(f"{name} {', '.join(vectors)}{selected};")
    size = 8 if kinds[2] == "f64" else 4
    lines += [f"st.global.{kinds[2]} [%p3+{number * size}], {item};" for number, item in enumerate(names[3])]
    parameters = ", ".join(f".param .u64 p{place}" for place in range(len(operands)))
    body = "\n".join(lines)
    return (
        f".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k({parameters})\n"
        f"{{\n.reg .u32 %lane;\nmov.u32 %lane, %tid.x;\n{body}\nret;\n}}\n"
    )
