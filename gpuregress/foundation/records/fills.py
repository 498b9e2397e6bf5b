"""Options of fills, a record for each set of names; their JSON objects are told apart by their keys."""

from __future__ import annotations

from gpuregress.gpu.records import Record, Sparse

Number = int | float


class NoOptions(Record):
    """Options of `zeros`, `ones`, `permutation` and `same`: none."""


class Progression(Record):
    """Options of `arange`: the first value, and from one to the next."""

    start: Number
    step: Number


class Interval(Record):
    """Options of `uniform` and `integers`: the smallest value, and the end, which is above every value."""

    low: Number
    high: Number


class NormalDistribution(Record):
    """Options of `normal`: mean and standard deviation."""

    mean: Number
    std: Number


class Values(Record):
    """Options of `value` (one, or one for each part) and of `choice` (possible elements)."""

    values: tuple[Number, ...]


class GeneratorSeed(Record):
    """Options of `park_miller`: the generator's state before the first step."""

    seed: Number


class InputFile(Sparse):
    """Options of `file`.

    Attributes:
        path: absolute; `x.npz:name` is one array of an archive.
        origin: an earlier result as the job names it, `baseline:reduce/n=8/sum`; "" for other files.
        digest: of the file of an earlier result, "" for other files.
    """

    path: str
    origin: str = ""
    digest: str = ""


class PythonFunction(Record):
    """Options of `python`: `/abs/module.py:function`."""

    function: str


FillOptions = (
    NoOptions | Progression | Interval | NormalDistribution | Values | GeneratorSeed | InputFile | PythonFunction
)
