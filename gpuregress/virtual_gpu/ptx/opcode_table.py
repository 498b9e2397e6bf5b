"""Table of PTX opcodes with the properties that compiler passes read.

One row holds for opcodes with equal properties. A key may add modifiers to an opcode: the row of
`bar.red` holds for each `bar` that has `.red`. Every opcode that `isa` lowers has a row. For any
other opcode the passes assume the worst: see `UNKNOWN`.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import lru_cache

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.ptx.tree import Instruction, Statement, Vector, elements


class ResultKind(Enum):
    """Dependence of an instruction's result, its first operand."""

    NONE = auto()  # no result: the first operand is read
    PURE = auto()  # the operands alone: the same in all threads where the operands are
    UNIFORM = auto()  # all threads of the block: the same in each of them
    VARYING = auto()  # memory or other threads: may differ between threads whatever the operands


class MemoryEffect(Enum):
    """Effect of an instruction on memory."""

    NONE = auto()
    READ = auto()
    WRITE = auto()
    UPDATE = auto()  # reads and writes in one step
    COPY = auto()  # reads at one address, writes at another


class Control(Enum):
    """Transfer of control by an instruction."""

    NEXT = auto()
    BRANCH = auto()  # to a label
    BRANCH_TABLE = auto()  # to one of a list of labels
    LEAVE = auto()  # out of the function, or the thread ends
    TRAP = auto()  # the launch ends


class Wait(Enum):
    """Threads that an instruction may have to wait for."""

    NONE = auto()
    BLOCK = auto()
    CLUSTER = auto()
    MASK = auto()  # the lanes of its warp that the last operand names
    CONVERGED = auto()  # the lanes of its warp that come here together
    WARP = auto()  # all lanes of its warp
    YIELD = auto()  # none in particular: others get a turn
    STEP = auto()  # the lanes of its warp that can come here, as a converged warp does


class Exchange(Enum):
    """Data that the lanes of a warp exchange."""

    NONE = auto()
    BALLOT = auto()  # a bit each
    VALUES = auto()  # a register each
    MATRICES = auto()  # rows of matrices


class Arithmetic(Enum):
    """Operation of an opcode on integers, addresses and predicates, as analyses of indices understand it."""

    OTHER = auto()
    COPY = auto()
    CONVERT = auto()
    ADD = auto()
    SUBTRACT = auto()
    MULTIPLY = auto()
    MULTIPLY_ADD = auto()
    DIVIDE = auto()
    REMAINDER = auto()
    NEGATE = auto()
    MIN = auto()
    MAX = auto()
    NOT = auto()
    AND = auto()
    OR = auto()
    XOR = auto()
    SHIFT_LEFT = auto()
    SHIFT_RIGHT = auto()
    EXTRACT = auto()
    INSERT = auto()
    COMPARE = auto()
    SELECT = auto()


class OpcodeInfo(Record):
    """The properties of an opcode.

    Attributes:
        family: the module of `isa` that lowers it; "" for an opcode that is rewritten before, or refused.
        result: the dependence of its result.
        arithmetic: its operation, for analyses of indices.
        memory: its effect on memory; the address is its first operand that is one.
        space: the only state space that it reaches, "" where its modifiers name one.
        control: the transfer of control.
        wait: the threads to wait for.
        exchange: the data that lanes exchange.
        reads_before_wait: whether it reads all of its operands before it waits, and sets all of its results after.
        operands_in_context: whether it reads its operands from the context of the warp's threads when all of them wait.
        results_in_context: whether it leaves its results in the context of the warp's threads.
        is_aligned: whether all lanes of a warp execute it together, as the manual's `.aligned` demands.
        observes_threads: whether it sees what other threads write meanwhile; a load does so if it is ordered.
        is_incoherent: whether it reads memory through a cache that is not kept coherent with writes of the same launch.
            CUDA programming guide, "Read/Write Coherency".
        crosses_blocks: whether other blocks may notice it, or be noticed, beyond what `memory` says.
        pointer_operands: the operands from which an address may pass into a 64-bit result; None: not known.
        makes_address: whether its result is an address by definition.
        reads_carry: whether it adds the carry flag.
        is_cheap: whether computing it again costs less than keeping its result while a thread waits.
        vectorizes: whether LLVM can vectorise a loop over threads that contains it.
        since: the first architecture that has it, "" for all.
        operand_types: a letter for the type of each operand's registers; the operands after the last one are not
            checked. `t`: the instruction's type, which is its last modifier that is one. `d`: the first one. `T` and
            `D`: the same, and the register may be wider (PTX ISA, "Relaxed Type-checking Rules"). `w`: with `.wide` a
            type of twice the width of `t`. `u`: 32 bits. `p`: a predicate. `.`: not checked.
    """

    family: str
    result: ResultKind
    arithmetic: Arithmetic = Arithmetic.OTHER
    memory: MemoryEffect = MemoryEffect.NONE
    space: str = ""
    control: Control = Control.NEXT
    wait: Wait = Wait.NONE
    exchange: Exchange = Exchange.NONE
    reads_before_wait: bool = False
    operands_in_context: bool = False
    results_in_context: bool = False
    is_aligned: bool = False
    observes_threads: bool = False
    is_incoherent: bool = False
    crosses_blocks: bool = False
    pointer_operands: tuple[int, ...] | None = None
    makes_address: bool = False
    reads_carry: bool = False
    is_cheap: bool = False
    vectorizes: bool = False
    since: str = ""
    operand_types: str = ""

    @property
    def ends_block(self) -> bool:
        """Whether the instruction is the last of a basic block."""
        return self.control is not Control.NEXT


UNKNOWN = OpcodeInfo("", ResultKind.VARYING, memory=MemoryEffect.UPDATE, crosses_blocks=True)
"""An opcode without a row."""

_NONE, _PURE, _VARYING = ResultKind.NONE, ResultKind.PURE, ResultKind.VARYING
_MOVE = OpcodeInfo("special_registers", _PURE, Arithmetic.COPY, pointer_operands=(1,), is_cheap=True, vectorizes=True)
_BY_TYPE = OpcodeInfo("arithmetic.by_type", _PURE, vectorizes=True)
_SUM = replace(_BY_TYPE, pointer_operands=(1, 2), is_cheap=True)
_LOGIC = OpcodeInfo("arithmetic.bits", _PURE, is_cheap=True, vectorizes=True)
_OF_ONE_TYPE = OpcodeInfo("arithmetic.bits", _PURE, operand_types="tttt")
_FIELD = OpcodeInfo("arithmetic.bits", _PURE, vectorizes=True)
_RANK = OpcodeInfo("warp_barriers", _VARYING, crosses_blocks=True, since="sm_90")
_SHARED_UPDATE = OpcodeInfo("memory.mbarrier", _NONE, memory=MemoryEffect.UPDATE, space="shared", since="sm_80")
_MBARRIER = replace(_SHARED_UPDATE, observes_threads=True, crosses_blocks=True)
_TENSOR_MAP = OpcodeInfo("memory.async_copy", _NONE, memory=MemoryEffect.UPDATE, crosses_blocks=True, since="sm_90")
_MATRICES = OpcodeInfo("matrix.matrix_moves", _VARYING, wait=Wait.WARP, exchange=Exchange.MATRICES, is_aligned=True)
_PRODUCT = replace(_MATRICES, operands_in_context=True, results_in_context=True)
_ATOM = OpcodeInfo("memory.atomics", _VARYING, memory=MemoryEffect.UPDATE, observes_threads=True, operand_types="t.t")
ROWS: dict[str, OpcodeInfo] = {
    # Arithmetic, by the instruction's type.
    "add": replace(_SUM, arithmetic=Arithmetic.ADD, operand_types="ttt"),
    "sub": replace(_SUM, arithmetic=Arithmetic.SUBTRACT, operand_types="ttt"),
    "min": replace(_BY_TYPE, arithmetic=Arithmetic.MIN, pointer_operands=(1, 2), operand_types="ttt"),
    "max": replace(_BY_TYPE, arithmetic=Arithmetic.MAX, pointer_operands=(1, 2), operand_types="ttt"),
    "mul": replace(_BY_TYPE, arithmetic=Arithmetic.MULTIPLY, pointer_operands=(), is_cheap=True, operand_types="wtt"),
    "mad": replace(
        _BY_TYPE, arithmetic=Arithmetic.MULTIPLY_ADD, pointer_operands=(3,), is_cheap=True, operand_types="wttw"
    ),
    "neg": replace(_BY_TYPE, arithmetic=Arithmetic.NEGATE, is_cheap=True, operand_types="tt"),
    "div": replace(_BY_TYPE, arithmetic=Arithmetic.DIVIDE, pointer_operands=(), operand_types="ttt"),
    "rem": replace(
        _BY_TYPE, arithmetic=Arithmetic.REMAINDER, pointer_operands=(), vectorizes=False, operand_types="ttt"
    ),
    "abs fma rcp sqrt": replace(_BY_TYPE, operand_types="tttt"),
    "copysign cos ex2 lg2 mad24 mul24 rsqrt sad sin tanh": replace(_OF_ONE_TYPE, family="arithmetic.by_type"),
    "dp2a dp4a": OpcodeInfo("arithmetic.by_type", _PURE),
    "testp": OpcodeInfo("arithmetic.by_type", _PURE, operand_types="pt"),
    "addc subc madc": replace(_OF_ONE_TYPE, family="arithmetic.by_type", reads_carry=True),
    # Logic, bit fields, comparison, conversion, video.
    "and": replace(_LOGIC, arithmetic=Arithmetic.AND, pointer_operands=(1, 2), operand_types="ttt"),
    "or": replace(_LOGIC, arithmetic=Arithmetic.OR, pointer_operands=(1, 2), operand_types="ttt"),
    "xor": replace(_LOGIC, arithmetic=Arithmetic.XOR, operand_types="ttt"),
    "not": replace(_LOGIC, arithmetic=Arithmetic.NOT, operand_types="tt"),
    "shl": replace(_LOGIC, arithmetic=Arithmetic.SHIFT_LEFT, pointer_operands=(), operand_types="ttu"),
    "shr": replace(_LOGIC, arithmetic=Arithmetic.SHIFT_RIGHT, pointer_operands=(), operand_types="ttu"),
    "lop3": OpcodeInfo("arithmetic.bits", _PURE, vectorizes=True, operand_types="tttt"),
    "brev cnot prmt": _OF_ONE_TYPE,
    "shf": replace(_OF_ONE_TYPE, operand_types="tttu"),
    "bfe": replace(_FIELD, arithmetic=Arithmetic.EXTRACT, operand_types="ttuu"),
    "bfi": replace(_FIELD, arithmetic=Arithmetic.INSERT, operand_types="tttuu"),
    "bfind clz popc": OpcodeInfo("arithmetic.bits", _PURE, operand_types="ut"),
    "bmsk fns szext": OpcodeInfo("arithmetic.bits", _PURE),
    "setp": OpcodeInfo("arithmetic.compare", _PURE, Arithmetic.COMPARE, vectorizes=True, operand_types="pttp"),
    "selp": OpcodeInfo(
        "arithmetic.compare", _PURE, Arithmetic.SELECT, pointer_operands=(1, 2), vectorizes=True, operand_types="tttp"
    ),
    "set": OpcodeInfo("arithmetic.compare", _PURE, operand_types="dttp"),
    "slct": OpcodeInfo("arithmetic.compare", _PURE, operand_types="dddt"),
    "cvt": replace(_MOVE, family="arithmetic.convert", arithmetic=Arithmetic.CONVERT, operand_types="DT"),
    "vabsdiff2 vadd2 vavrg2 vmax2 vmin2 vset2 vsub2": OpcodeInfo("arithmetic.video", _PURE),
    "vabsdiff4 vadd4 vavrg4 vmax4 vmin4 vset4 vsub4": OpcodeInfo("arithmetic.video", _PURE),
    "vabsdiff vadd vmad vmax vmin vset vshl vshr vsub": OpcodeInfo("arithmetic.video", _PURE),
    # Moves and addresses.
    "mov": replace(_MOVE, operand_types="tt"),
    "cvta": replace(_MOVE, makes_address=True, operand_types="tt"),
    "isspacep": OpcodeInfo("special_registers", _PURE),
    "createpolicy": OpcodeInfo("special_registers", _PURE, since="sm_80"),
    "mapa": replace(_RANK, pointer_operands=(1,), makes_address=True),
    "getctarank": _RANK,
    # Control flow.
    "bra": OpcodeInfo("branches", _NONE, control=Control.BRANCH, vectorizes=True),
    "brx": OpcodeInfo("branches", _NONE, control=Control.BRANCH_TABLE),
    "ret exit": OpcodeInfo("branches", _NONE, control=Control.LEAVE, vectorizes=True),
    "trap": OpcodeInfo("branches", _NONE, control=Control.TRAP),
    "brkpt pmevent": OpcodeInfo("branches", _NONE),
    "setmaxnreg": OpcodeInfo("branches", _NONE, since="sm_90a"),
    "griddepcontrol": OpcodeInfo("branches", _NONE, crosses_blocks=True, since="sm_90"),
    # Memory.
    "ld": OpcodeInfo("memory.load_store", _VARYING, memory=MemoryEffect.READ, vectorizes=True, operand_types="T"),
    "ldu": OpcodeInfo("memory.load_store", _VARYING, memory=MemoryEffect.READ, operand_types="T"),
    "st": OpcodeInfo("memory.async_copy", _NONE, memory=MemoryEffect.WRITE, vectorizes=True, operand_types=".T"),
    "atom": _ATOM,
    "atom.cas": replace(_ATOM, operand_types="t.tt"),
    "red": OpcodeInfo("memory.async_copy", _NONE, memory=MemoryEffect.UPDATE, operand_types=".t"),
    "cp": OpcodeInfo("memory.async_copy", _NONE, memory=MemoryEffect.COPY, since="sm_80"),
    "fence membar": OpcodeInfo("memory.async_copy", _NONE, crosses_blocks=True),
    "fence.cta membar.cta": OpcodeInfo("memory.async_copy", _NONE),
    "prefetch prefetchu": OpcodeInfo("memory.load_store", _NONE),
    "applypriority": OpcodeInfo("memory.load_store", _NONE, since="sm_80"),
    "tensormap": _TENSOR_MAP,
    "tensormap.replace": replace(_TENSOR_MAP, since="sm_90a"),
    "discard": OpcodeInfo("memory.async_copy", _NONE, since="sm_80"),
    "alloca": OpcodeInfo("memory.stack", _VARYING),
    "stacksave": OpcodeInfo("", _VARYING),
    "stackrestore": OpcodeInfo("", _NONE),
    "multimem": OpcodeInfo("", _VARYING, memory=MemoryEffect.UPDATE, crosses_blocks=True, since="sm_90"),
    "mbarrier": _MBARRIER,
    "mbarrier.arrive mbarrier.arrive_drop mbarrier.test_wait mbarrier.try_wait mbarrier.pending_count": replace(
        _MBARRIER, result=_VARYING
    ),
    # Textures and surfaces.
    "tex tld4 suld": OpcodeInfo("textures", _VARYING, memory=MemoryEffect.READ, space="global", is_incoherent=True),
    "sust": OpcodeInfo("textures", _NONE, memory=MemoryEffect.WRITE, space="global"),
    "sured": OpcodeInfo("", _NONE, memory=MemoryEffect.UPDATE, space="global"),
    "txq suq": OpcodeInfo("textures", _VARYING),
    # Threads that meet.
    "bar barrier": OpcodeInfo("warp_barriers", _NONE, wait=Wait.BLOCK, vectorizes=True),
    "bar.red barrier.red": OpcodeInfo("warp_barriers", ResultKind.UNIFORM, wait=Wait.BLOCK, vectorizes=True),
    "bar.warp": OpcodeInfo("warp_barriers", _NONE, wait=Wait.MASK, vectorizes=True),
    "bar.warp.implied": OpcodeInfo("warp_barriers", _NONE, vectorizes=True),
    "bar.warp.step": OpcodeInfo("warp_barriers", _NONE, wait=Wait.STEP, vectorizes=True),
    "barrier.cluster": OpcodeInfo("warp_barriers", _NONE, wait=Wait.CLUSTER, vectorizes=True),
    "barrier.cluster.arrive": OpcodeInfo("warp_barriers", _NONE, vectorizes=True),
    "vote": OpcodeInfo("warp_shuffles", _VARYING, wait=Wait.MASK, exchange=Exchange.BALLOT, operand_types="tpu"),
    "shfl": OpcodeInfo(
        "warp_shuffles", _VARYING, wait=Wait.MASK, exchange=Exchange.VALUES, pointer_operands=(1,), operand_types="tt"
    ),
    "match": OpcodeInfo("warp_shuffles", _VARYING, wait=Wait.MASK, exchange=Exchange.VALUES, operand_types=".t"),
    "redux": OpcodeInfo(
        "warp_shuffles", _VARYING, wait=Wait.MASK, exchange=Exchange.VALUES, since="sm_80", operand_types="tt"
    ),
    "elect": OpcodeInfo("warp_shuffles", _VARYING, wait=Wait.MASK, since="sm_90"),
    "activemask": OpcodeInfo("warp_shuffles", _VARYING, wait=Wait.CONVERGED),
    "nanosleep": OpcodeInfo("warp_shuffles", _NONE, wait=Wait.YIELD, crosses_blocks=True),
    # Matrices.
    "mma": replace(_PRODUCT, family="matrix.mma"),
    "mma.f64 mma.s32 mma.m8n8k4": replace(_MATRICES, family="matrix.mma"),
    "movmatrix": replace(_MATRICES, reads_before_wait=True),
    "ldmatrix": replace(
        _MATRICES, memory=MemoryEffect.READ, space="shared", reads_before_wait=True, results_in_context=True
    ),
    "stmatrix": replace(_MATRICES, result=_NONE, memory=MemoryEffect.WRITE, space="shared", since="sm_90"),
    "wmma.load": OpcodeInfo("matrix.wmma", _VARYING, memory=MemoryEffect.READ, is_aligned=True),
    "wmma.store": OpcodeInfo("matrix.wmma", _NONE, memory=MemoryEffect.WRITE, is_aligned=True),
    "wmma.mma": replace(_PRODUCT, family="matrix.wmma"),
    "wmma.mma.f64 wmma.mma.s32": replace(_MATRICES, family="matrix.wmma"),
    "wgmma": OpcodeInfo("matrix.wgmma", _NONE, since="sm_90a"),
    "wgmma.mma_async": replace(_MATRICES, family="matrix.wgmma", since="sm_90a"),
    # Shadow values, which an instrumented build inserts; no PTX text can name them.
    "%shadow": OpcodeInfo("shadow_arithmetic", _PURE),
    "%shadow.ld": OpcodeInfo("shadow_memory", _VARYING),
    "%shadow.st": OpcodeInfo("shadow_memory", _NONE),
    "tcgen05": OpcodeInfo("", _VARYING),
}


def _by_opcode() -> dict[str, dict[frozenset[str], OpcodeInfo]]:
    opcodes: dict[str, dict[frozenset[str], OpcodeInfo]] = {}
    for names, row in ROWS.items():
        for name in names.split():
            opcode, *modifiers = name.split(".")
            opcodes.setdefault(opcode, {})[frozenset(modifiers)] = row
    return opcodes


OPCODES = _by_opcode()
"""Opcode → modifiers → the properties of an instruction that has all of them."""


def info(instruction: Instruction) -> OpcodeInfo:
    """The properties of an instruction: those of the row that names most of its modifiers."""
    return _info(instruction.opcode, instruction.modifiers)


@lru_cache(maxsize=4096)
def _info(opcode: str, modifiers: tuple[str, ...]) -> OpcodeInfo:
    matching = [words for words in OPCODES.get(opcode, ()) if words.issubset(modifiers)]
    return OPCODES[opcode][max(matching, key=len)] if matching else UNKNOWN


def is_batch(instruction: Instruction) -> bool:
    """Whether an mma is a batch."""
    return len(instruction.operands) > 4 and isinstance(instruction.operands[4], Vector)


def instruction_count(statement: Statement) -> int:
    """The instructions that a statement counts as: a product of matrices as two, in which its lanes meet twice."""
    if not isinstance(statement, Instruction) or not info(statement).operands_in_context:
        return 1
    return 2 * len(elements(statement.operands[4])) if is_batch(statement) else 2
