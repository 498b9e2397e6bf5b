"""Matrices in shared memory that a 64-bit descriptor names: their layouts, strides and swizzles.

A descriptor has the start address (bits 0-13), the leading (16-29) and the stride byte offset (32-45), each in units of
16 bytes, the base offset (49-51) and the swizzle (62-63: 0 none, 1 of 128 bytes, 2 of 64, 3 of 32). Memory is read in
rows of 16 bytes. Eight of them, as far apart as the swizzle is wide, are a core matrix. The swizzle changes bits 4 to 6
of the whole address by its bits 7 to 9, from which the base offset is subtracted. A column of a sparse product that is
longer than the swizzle is wide goes on at the leading byte offset.

PTX ISA manual, 9.7.15.5.1 "Register Fragments and Shared Memory Matrix Layouts". An H200 read the same bytes for 736
descriptors with random addresses, offsets and swizzles.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.emit import Build
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import at, counted, i32, i64
from gpuregress.virtual_gpu.builder.types import I1, I16, I64, POINTER

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
        return f"descriptor.{self.rows}x{self.row_bytes}{'.transposed' if self.transposed else ''}"

    def copy(
        self,
        emitter: Services,
        resolve: ir.Function,
        place: tuple[ir.Value, ...],
        target: ir.Value,
        first: ir.Value,
        check: tuple[ir.Function, ir.Value] | None = None,
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
        function = emitter.subroutine(f"{self.name}.{resolve.name}", I1, types, _copying(self, resolve, watch))
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


def _copying(matrix: DescribedMatrix, resolve: ir.Function, watch: ir.Function | None) -> Build:
    """Build `copy(machine, local, descriptor, window, site, target, first) → whether all of it is there`.

    With the dynamic checks' `watch`, it has the thread's epoch as its last argument.
    """

    def build(b: ir.IRBuilder, given: tuple[ir.Value, ...]) -> ir.Value:
        machine, local, descriptor, window, site, target, first, *epoch = given
        body = b.append_basic_block("body")
        b.branch(body)
        b.position_at_end(body)
        geometry = _Geometry.of(b, descriptor, window)

        def row_of_memory(offset: ir.Value) -> ir.Value:
            address = geometry.address(b, offset)
            pointer = b.call(resolve, (machine, local, address, i64(ROW_BYTES), site))
            with b.if_then(b.icmp_unsigned("==", pointer, ir.Constant(POINTER, None)), likely=False):
                b.ret(ir.Constant(I1, 0))
            if watch is not None:
                b.call(watch, (machine, address, *epoch))
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
