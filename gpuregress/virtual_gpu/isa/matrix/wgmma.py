"""Lowering of wgmma, whose operands are matrices in shared memory."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.builder.address_resolution import set_field
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import (
    I1,
    I16,
    I64,
    POINTER,
    Build,
    at,
    counted,
    i32,
    i64,
    private_function,
)
from gpuregress.virtual_gpu.builder.threads import dimension, linear_thread
from gpuregress.virtual_gpu.checks.matrix_and_texel_notes import (
    RowCheck,
    note_commit,
    note_fence,
    note_product,
    note_wait,
    row_check,
)
from gpuregress.virtual_gpu.isa.matrix.operand_layout import (
    Fragment,
    MatrixElement,
    Sparsity,
    StoredRows,
    compute_once,
    element_of,
    load_own,
    place_of_a,
    place_of_sums,
    selector_error,
    show,
    types_error,
)
from gpuregress.virtual_gpu.isa.matrix.sums import NARROW_WGMMA, ORDINARY, ExactTile, Tile
from gpuregress.virtual_gpu.ptx.modifiers import unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction, Integer, Operand, Symbol, Vector, elements
from gpuregress.virtual_gpu.runtime.machine_layout import FAULT_REACH, FAULT_RESULT, FAULT_WARPGROUP, SHARED_WINDOW

# --- matrix descriptors -----------------------------------------------------------------------------------------------


ROW_BYTES = 16
"""Bytes that are read at once: a row of a core matrix."""
_CORE = 8
"""Rows of a core matrix."""
_FIELD = 0x3FFF


class DescribedMatrix(Record):
    """The shape of A or B in shared memory.

    Attributes:
        rows: of A, 16 for a warp; columns of B.
        row_bytes: bytes of each.
        transposed: whether rows of memory go across them, eight elements of 16 bits each.
    """

    rows: int
    row_bytes: int
    transposed: bool

    @property
    def name(self) -> str:
        """The subroutine's."""
        name = f"descriptor.{self.rows}x{self.row_bytes}"
        return f"{name}.transposed" if self.transposed else name

    def copy(
        self,
        emitter: Services,
        resolve: ir.Function,
        place: tuple[ir.Value, ...],
        target: ir.Value,
        first: ir.Value,
        check: tuple[RowCheck, ir.Value] | None = None,
    ) -> ir.Value:
        """Copy the matrix to `target`, one row (of A) or column (of B) after the other.

        Args:
            emitter: the function being lowered.
            resolve: looks up shared addresses.
            place: the machine, the thread's local memory, the descriptor, the first address of the block's shared
                memory (i64) and the number of the site.
            target: a host pointer.
            first: the first row, i32.
            check: checks each row of memory with this epoch; see `checks.matrix_and_texel_notes`.

        Returns:
            whether all of it is in the block's shared memory.
        """
        watch, *epoch = check or (None,)
        arguments = (*place, target, first, *epoch)
        types = tuple(value.type for value in arguments)
        build = _copying(self, resolve, watch)
        function = private_function(emitter.module, f"{self.name}.{resolve.name}", I1, types, build)
        return emitter.builder.call(function, arguments)


class _Geometry(Record):
    """The descriptor's numbers, i64: strides in bytes."""

    window: ir.Value
    start: ir.Value
    leading: ir.Value
    stride: ir.Value
    is_plain: ir.Value
    width: ir.Value
    mask: ir.Value
    base: ir.Value

    @classmethod
    def of(cls, b: ir.IRBuilder, descriptor: ir.Value, window: ir.Value) -> _Geometry:
        """Decode a descriptor."""
        start, leading, stride = (
            b.shl(b.and_(b.lshr(descriptor, i64(low)), i64(_FIELD)), i64(4)) for low in (0, 16, 32)
        )
        mode = b.lshr(descriptor, i64(62))
        is_plain = b.icmp_unsigned("==", mode, i64(0))
        width = b.select(is_plain, i64(ROW_BYTES), b.lshr(i64(256), mode))
        mask = b.sub(b.lshr(width, i64(4)), i64(1))
        base = b.and_(b.lshr(descriptor, i64(49)), i64(7))
        return cls(window, start, leading, stride, is_plain, width, mask, base)

    def address(self, b: ir.IRBuilder, offset: ir.Value) -> ir.Value:
        """The generic address of a row at an offset, swizzled."""
        linear = b.add(self.start, offset)
        exchanged = b.shl(b.and_(b.sub(b.lshr(linear, i64(7)), self.base), self.mask), i64(4))
        return b.add(b.xor(linear, exchanged), self.window)

    def along(self, b: ir.IRBuilder, row: ir.Value, chunk: ir.Value) -> ir.Value:
        """The offset of 16 bytes of a row of A, or a column of B: its `chunk`-th."""
        core, inner = b.lshr(row, i64(3)), b.and_(row, i64(_CORE - 1))
        down = b.add(b.mul(inner, self.width), b.mul(core, self.stride))
        return b.add(down, b.add(b.shl(b.and_(chunk, self.mask), i64(4)), b.mul(self._wide(b, chunk), self.leading)))

    def _wide(self, b: ir.IRBuilder, chunks: ir.Value) -> ir.Value:
        """The number of whole widths that 16-byte chunks fill."""
        return b.lshr(chunks, b.cttz(b.add(self.mask, i64(1)), ir.Constant(I1, 1)))

    def across(self, b: ir.IRBuilder, group: ir.Value, step: ir.Value) -> ir.Value:
        """The offset of 16 bytes across eight rows: those of a group, at a step of the inner dimension."""
        core, inner = b.lshr(step, i64(3)), b.and_(step, i64(_CORE - 1))
        near = b.shl(b.and_(group, self.mask), i64(4))
        far = b.mul(self._wide(b, group), b.select(self.is_plain, self.stride, self.leading))
        down = b.mul(core, b.select(self.is_plain, self.leading, self.stride))
        return b.add(b.add(near, far), b.add(b.mul(inner, self.width), down))


def _copying(matrix: DescribedMatrix, resolve: ir.Function, watch: RowCheck | None) -> Build:
    """Build `copy(machine, local, descriptor, window, site, target, first) → whether all of it is there`.

    With the dynamic checks' `watch`, it has the thread's epoch as its last argument.
    """

    def build(b: ir.IRBuilder, given: tuple[ir.Value, ...]) -> ir.Value:
        machine, local, descriptor, window, site, target, first, *epoch = given
        geometry = _Geometry.of(b, descriptor, window)

        def row_of_memory(offset: ir.Value) -> ir.Value:
            address = geometry.address(b, offset)
            pointer = b.call(resolve, (machine, local, address, i64(ROW_BYTES), site))
            with b.if_then(b.icmp_unsigned("==", pointer, ir.Constant(POINTER, None)), likely=False):
                b.ret(ir.Constant(I1, 0))
            if watch is not None:
                watch(b, machine, address, *epoch)
            return pointer

        if matrix.transposed:
            groups, steps = matrix.rows // _CORE, matrix.row_bytes // 2
            start = b.zext(b.lshr(first, i32(3)), I64)
            with counted(b, i64(groups)) as group, counted(b, i64(steps)) as step:
                pointer = row_of_memory(geometry.across(b, b.add(group, start), step))
                for number in range(_CORE):
                    row = b.add(b.shl(group, i64(3)), i64(number))
                    own = b.add(b.mul(row, i64(matrix.row_bytes)), b.shl(step, i64(1)))
                    b.store(b.load(at(b, pointer, 2 * number), typ=I16, align=2), at(b, target, own), align=2)
        else:
            start = b.zext(first, I64)
            with counted(b, i64(matrix.rows)) as row, counted(b, i64(matrix.row_bytes // ROW_BYTES)) as chunk:
                pointer = row_of_memory(geometry.along(b, b.add(row, start), chunk))
                own = b.add(b.mul(row, i64(matrix.row_bytes)), b.shl(chunk, i64(4)))
                b.store(b.load(pointer, typ=ir.IntType(128), align=16), at(b, target, own), align=16)
        return ir.Constant(I1, 1)

    return build


# --- wgmma ------------------------------------------------------------------------------------------------------------
# Products of a warpgroup: wgmma.mma_async, with B, and A or not, in shared memory.
#
# Each of the four warps computes its 16 rows, when all its lanes have come. The manual leaves open when the matrices
# are read and D is written, between the instruction and the wait for its group. Here both happen at once;
# `wgmma_results` finds reads of D before the wait.
#
# PTX ISA manual, 9.7.15.


_ROWS = 16
"""Rows of a warp."""
_ROW_BYTES = 32
"""Bytes that a row of A holds, of every type; a column of B has as many, or twice as many where A is sparse."""
_REACH = 1 << 18
"""Bytes of shared memory that a descriptor can address."""
_TYPES = ("f16", "bf16", "tf32", "e4m3", "e5m2", "f32", "s8", "u8", "s32", "b1")
_TRANSPOSABLE = ("f16", "bf16")


class _Form(Record):
    """Types and columns of a wgmma, and what its immediates say."""

    columns: int
    result: str
    a: MatrixElement
    b: MatrixElement
    a_in_registers: bool
    is_negated: bool
    a_transposed: bool
    b_transposed: bool
    limited: bool
    sparsity: Sparsity | None

    @property
    def held(self) -> int:
        """Elements of a row of A that are held."""
        return _ROW_BYTES * 8 // self.a.bits

    @property
    def depth(self) -> int:
        """Elements of a column of B."""
        return self.held if self.sparsity is None else 2 * self.held

    @property
    def name(self) -> str:
        """The name of the subroutine."""
        name = f"wgmma.n{self.columns}.{self.a.name}.{self.b.name}"
        name += ".registers" if self.a_in_registers else ".shared"
        if self.is_negated:
            name += ".negated"
        if self.sparsity is not None:
            name += f".sp{self.sparsity.selector}"
        return name


def _form(instruction: Instruction) -> _Form:
    words = instruction.modifiers
    shape = next((word for word in words if word.startswith("m64n")), "")
    types = [word for word in words if word in _TYPES]
    columns, _, depth = shape.removeprefix("m64n").partition("k")
    if len(types) != 3 or not columns.isdigit() or not depth.isdigit() or not _is_width(int(columns), types[0]):
        raise unsupported(instruction, "this shape is not implemented")
    result, left, right = types
    wrong = types_error(result, left, right)
    if wrong:
        raise unsupported(instruction, wrong)
    is_binary, is_sparse = left == "b1", "sp" in words
    in_registers = isinstance(instruction.operands[1], Vector)
    # After scale-d, and before the accumulator: the signs of A and B, and which of them are transposed.
    numbers = [_immediate(instruction, item) for item in instruction.operands[6 if is_sparse else 4 : -1]]
    signs, transposed = numbers[:2], numbers[2:]
    transposable = 0
    if left in _TRANSPOSABLE:
        transposable = 1 if in_registers else 2
    flags = [0, *transposed] if in_registers else transposed
    a = _factor(left)
    sparsity = None
    if is_sparse and not is_binary:
        sparsity = _sparsity(instruction, a)
    form = _Form(
        columns=int(columns),
        result=result,
        a=a,
        b=_factor(right),
        a_in_registers=in_registers,
        is_negated=signs.count(-1) == 1,
        a_transposed=1 in flags[:1],
        b_transposed=1 in flags[1:2],
        limited="satfinite" in words,
        sparsity=sparsity,
    )
    if any(sign not in (1, -1) for sign in signs) or any(item not in (0, 1) for item in transposed):
        raise unsupported(instruction, "a sign is 1 or -1, and a transposition 0 or 1")
    has_signs = len(signs) == 0 if result == "s32" else len(signs) == 2
    if not has_signs or ("b1" in (left, right) and "and" not in words):
        raise unsupported(instruction, "these operands are not implemented")
    # The form has a row of bits as elements of 32 bits.
    elements_depth = 32 * form.depth if is_binary else form.depth
    if len(transposed) != transposable or int(depth) != elements_depth:
        raise unsupported(instruction, "this shape is not implemented")
    return form


def _factor(type_name: str) -> MatrixElement:
    return element_of("b32" if type_name == "b1" else type_name)


def _is_width(columns: int, result: str) -> bool:
    """Whether there are so many columns: multiples of 8, of integers above 24 of 16."""
    step = 16 if result == "s32" and columns > 24 else 8
    return 8 <= columns <= 256 and columns % step == 0


def _sparsity(instruction: Instruction, kind: MatrixElement) -> Sparsity:
    """Which elements A holds: of two of tf32 one, of four others two."""
    count = 2 if kind.name == "tf32" else 4
    chunks = 2 * _ROW_BYTES * 8 // kind.bits // count
    selector = _immediate(instruction, instruction.operands[4])
    wrong = selector_error(selector, chunks)
    if wrong:
        raise unsupported(instruction, wrong)
    return Sparsity(chunks, count, selector)


def _immediate(instruction: Instruction, operand: Operand) -> int:
    if not isinstance(operand, Integer):
        raise unsupported(instruction, "a sign or a transposition that is not a constant")
    return operand.value


def _mma_async(emitter: Services, instruction: Instruction) -> None:
    form = _form(instruction)
    target, left, right = instruction.operands[:3]
    scale, addend = instruction.operands[3 if form.sparsity is None else 5], instruction.operands[-1]
    a = _of_a(form)
    b = StoredRows(form.b, form.columns, form.depth, is_b=True)
    c = Fragment(element_of(form.result), 4, place_of_sums(form.columns), form.columns // 8, 8)
    if form.a_in_registers:
        show(emitter, 0, [emitter.read(item, "b32") for item in elements(left)])
    start = a.bytes + b.bytes
    is_added = emitter.read(scale, "pred")
    words = [emitter.builder.select(is_added, emitter.read(item, "b32"), i32(0)) for item in elements(addend)]
    end = show(emitter, start, words)
    if form.sparsity is not None:
        end = show(emitter, end, [emitter.read(instruction.operands[3], "b32")])
    _check_warpgroup(emitter, instruction)
    _check_reach(emitter, instruction)

    def multiply(shown: ir.Value) -> None:
        if not form.a_in_registers:
            rows = DescribedMatrix(_ROWS, _ROW_BYTES, form.a_transposed)
            warp = emitter.builder.and_(_warp(emitter), i32(3))
            _copy(emitter, instruction, rows, left, shown, emitter.builder.mul(warp, i32(_ROWS)))
        columns = DescribedMatrix(form.columns, b.bytes // form.columns, form.b_transposed)
        _copy(emitter, instruction, columns, right, at(emitter.builder, shown, a.bytes), i32(0))
        note_product(emitter, instruction, _read_site(emitter, instruction))
        _tile(form, a, b, c).compute(emitter, shown)

    shown = compute_once(emitter, end, multiply)
    load_own(emitter, shown, start, elements(target), 32)


def _tile(form: _Form, a: Fragment | StoredRows, b: StoredRows, c: Fragment) -> Tile | ExactTile:
    shape = (_ROWS, form.columns, form.depth)
    if form.result == "s32":
        return ExactTile(name=form.name, shape=shape, a=a, b=b, c=c, limited=form.limited, sparsity=form.sparsity)
    rule = NARROW_WGMMA if form.a.bits == 8 else ORDINARY
    return Tile(
        name=form.name,
        shape=shape,
        a=a,
        b=b,
        c=c,
        result=form.result,
        sparsity=form.sparsity,
        rule=rule,
        is_negated=form.is_negated,
    )


def _of_a(form: _Form) -> Fragment | StoredRows:
    if not form.a_in_registers:
        return StoredRows(form.a, _ROWS, form.held, is_b=False)
    return Fragment(form.a, 4 * form.a.parts, place_of_a(form.a.parts, _ROWS, form.held))


def _warp(emitter: Services) -> ir.Value:
    b = emitter.builder
    return b.lshr(linear_thread(b, emitter.view, emitter.thread), i32(5))


def _check_reach(emitter: Services, instruction: Instruction) -> None:
    """Shared memory is larger here than on a GPU: beyond its gaps a descriptor may not reach all of it."""
    start = emitter.unit.dynamic_start
    if start + SM_90.shared <= _REACH:
        return
    b = emitter.builder
    far, near = b.append_basic_block("far"), b.append_basic_block("near")
    beyond = b.icmp_unsigned(">", b.add(emitter.view.field("dynamic_size"), i64(start)), i64(_REACH))
    b.cbranch(beyond, far, near).set_weights([1, 4000])
    emitter.builder = ir.IRBuilder(far)
    emitter.fail(FAULT_REACH, instruction)
    emitter.builder = ir.IRBuilder(near)


def _check_warpgroup(emitter: Services, instruction: Instruction) -> None:
    """Four warps, of which the first has a number that is a multiple of four, must be there."""
    b, view = emitter.builder, emitter.view
    threads = b.mul(dimension(view, "block_x"), b.mul(dimension(view, "block_y"), dimension(view, "block_z")))
    end = b.mul(b.add(b.lshr(_warp(emitter), i32(2)), i32(1)), i32(128))
    wrong, right = b.append_basic_block("no_warpgroup"), b.append_basic_block("warpgroup")
    b.cbranch(b.icmp_unsigned("<", threads, end), wrong, right).set_weights([1, 4000])
    emitter.builder = ir.IRBuilder(wrong)
    emitter.fail(FAULT_WARPGROUP, instruction)
    emitter.builder = ir.IRBuilder(right)


def _copy(
    emitter: Services,
    instruction: Instruction,
    matrix: DescribedMatrix,
    descriptor: Operand,
    target: ir.Value,
    first: ir.Value,
) -> None:
    """Copy a matrix from shared memory to the warp's area; a row that is not there is a fault."""
    b, unit, view = emitter.builder, emitter.unit, emitter.view
    resolve = unit.resolve_in("shared")
    site = _read_site(emitter, instruction)
    window = i64(SHARED_WINDOW)
    if view.clustered:
        window = b.add(window, view.field("shared_base"))
    place = (view.machine, emitter.thread.local, emitter.read(descriptor, "b64"), window, i64(site))
    is_there = matrix.copy(emitter, resolve, place, target, first, row_check(emitter, instruction, site))
    after = b.append_basic_block("copied")
    b.cbranch(is_there, after, emitter.fault_block).set_weights([4000, 1])
    b.position_at_end(after)


def _read_site(emitter: Services, instruction: Instruction) -> int:
    return emitter.unit.site(instruction, "read", "shared", ROW_BYTES)


def _check(emitter: Services, instruction: Instruction) -> None:
    """Check a read that `wgmma_results` cannot exclude to come before the wait."""
    stamp, done, *described = instruction.operands
    b = emitter.builder
    in_flight = b.icmp_signed(">", emitter.read(stamp, "s32"), emitter.read(done, "s32"))
    wrong, right = b.append_basic_block("in_flight"), b.append_basic_block("complete")
    b.cbranch(in_flight, wrong, right).set_weights([1, 4000])
    emitter.builder = ir.IRBuilder(wrong)
    name, reader, origin = (item.name for item in described if isinstance(item, Symbol))
    read = replace(instruction, opcode=reader, modifiers=())
    set_field(emitter.builder, emitter.view.machine, "fault_kind", i64(FAULT_RESULT))
    set_field(emitter.builder, emitter.view.machine, "fault_site", i64(emitter.unit.site(read, origin, buffer=name)))
    emitter.builder.branch(emitter.fault_block)
    emitter.builder = ir.IRBuilder(right)


def _fence(emitter: Services, instruction: Instruction) -> None:
    """Order registers, which products here read at once."""
    del instruction
    note_fence(emitter)


def _commit_group(emitter: Services, instruction: Instruction) -> None:
    """End a group, as `wgmma_results` has evaluated."""
    del instruction
    note_commit(emitter)


def _wait_group(emitter: Services, instruction: Instruction) -> None:
    """Wait for groups, as `wgmma_results` has evaluated."""
    most = instruction.operands[0]
    if not isinstance(most, Integer):
        raise unsupported(instruction, "operands")
    note_wait(emitter, most.value)


_FORMS = {
    "mma_async": _mma_async,
    "fence": _fence,
    "commit_group": _commit_group,
    "wait_group": _wait_group,
    "check": _check,
}


def _wgmma(emitter: Services, instruction: Instruction) -> None:
    card = emitter.unit.schedule.card
    if card != SM_90.name:
        raise unsupported(instruction, f"{card} has no warpgroups")
    if instruction.modifiers[0] not in _FORMS:
        raise unsupported(instruction)
    _FORMS[instruction.modifiers[0]](emitter, instruction)


TABLE = {"wgmma": _wgmma}
