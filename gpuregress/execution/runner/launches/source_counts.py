"""Coverage and costs by the files of a case: a compiler names them as its command line does."""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import (
    Costs,
    Coverage,
    FileCoverage,
    InstructionCost,
    Instruments,
    Observations,
    Source,
)
from gpuregress.gpu import costs as cost_records
from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.coverage import merged
from gpuregress.gpu.records import replace


def added(
    observed: Observations, report: LaunchReport, kernel: str, source: Source, wanted: Instruments
) -> Observations:
    """The observations of a case with the counts of a further launch.

    Args:
        observed: so far.
        report: of the launch.
        kernel: its name in reports.
        source: what was compiled.
        wanted: what is counted.
    """
    if report.coverage is not None and wanted.coverage:
        seen = located(report.coverage, source)
        before = observed.coverage
        observed = replace(observed, coverage=seen if before is None else merged((before, seen)))
    if report.costs is not None:
        found = located_costs(report.costs, kernel, source)
        earlier = observed.costs
        costs = found if earlier is None else cost_records.merged((earlier, found))
        observed = replace(observed, costs=costs)
    return observed


def located(coverage: Coverage, source: Source) -> Coverage:
    """The coverage with the paths of its files, without those of libraries.

    Args:
        coverage: with files as the compiler names them.
        source: what was compiled.
    """
    paths = {one.path: path_of(one.path, source) for one in coverage.files}
    found = [(paths[one.path], one) for one in coverage.files]
    return merged(Coverage((_moved(one, path),)) for path, one in found if path)


def located_costs(costs: Costs, kernel: str, source: Source) -> Costs:
    """The costs with paths: an instruction belongs to the innermost line of a file of the project.

    Args:
        costs: with files as the compiler names them.
        kernel: its name in reports.
        source: what was compiled.
    """
    names = {name for item in costs.instructions for name, _, _ in item.chain}
    paths = {name: path_of(name, source) for name in names}
    items = tuple(_placed(item, kernel, paths) for item in costs.instructions)
    contention = dict.fromkeys([kernel] * bool(costs.contention), max(costs.contention.values(), default=0))
    return cost_records.merged((Costs(items, contention, costs.uncounted, costs.left_out),))


def _placed(item: InstructionCost, kernel: str, paths: dict[str, str]) -> InstructionCost:
    inner = next(((paths[name], line) for name, line, _ in item.chain if paths[name]), ("", 0))
    return replace(item, kernel=kernel, path=inner[0], line=inner[1], chain=())


def _moved(one: FileCoverage, path: str) -> FileCoverage:
    return replace(one, path=path)


def path_of(name: str, source: Source) -> str:
    """The path of a file of the project, "" for a library's. A file without a name is the PTX itself."""
    main = Path(source.path)
    if not name:
        return source.path if main.suffix == ".ptx" else ""
    if Path(name).name == main.name and Path(name).parent in (Path(), main.parent):
        return source.path
    folders = (main.parent, *map(Path, source.include))
    return next((str((folder / name).resolve()) for folder in folders if (folder / name).is_file()), "")
