"""Results of mutants by content: programs, job, files, baselines, code of the package."""

from __future__ import annotations

import json
from pathlib import Path

from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records import Baseline, Verdict, to_json
from gpuregress.gpu.records import replace
from gpuregress.judge.accepted import AcceptedDumps
from gpuregress.lab import experiment
from gpuregress.lab.mutating.programs import Variation
from gpuregress.lab.mutating.subject import Subject
from gpuregress.lab.mutating.trials import TrialResult
from gpuregress.store.baselines import BaselineStore
from gpuregress.toolchain import cache
from gpuregress.toolchain.python_kernels import source_inputs

FORMAT = 6
"""Counts up whenever a result's meaning changes; old results are then never found again."""


class ResultCache:
    """The results of a subject's variations, in the cache of compiled programs.

    Args:
        subject: whose.
    """

    def __init__(self, subject: Subject) -> None:
        self._base = subject_digest(subject)

    def find(self, variation: Variation) -> TrialResult | None:
        """Return the result of an equal variation; None where there is none, or it cannot be read."""
        return experiment.recalled(TrialResult, self._key(variation))

    def keep(self, variation: Variation, result: TrialResult) -> None:
        """Keep a result that will be the same again."""
        if result.is_reproducible:
            experiment.remember(self._key(variation), result)

    def _key(self, variation: Variation) -> str:
        if not self._base:
            return ""
        changed = sorted({**variation.files, **variation.ptx}.items())
        texts = [part.encode(errors="surrogateescape") for pair in changed for part in pair]
        options = json.dumps((variation.checks, variation.cases))
        return cache.digest(("mutant", str(FORMAT), cache.code_digest(), self._base, options, *texts))


def subject_digest(subject: Subject) -> str:
    """Digest all that decides the results of a subject's mutants; "" where not all of it can be known."""
    if any(program.unknown for program in subject.programs.values()):
        return ""
    parts: list[str | bytes] = []
    accepted = AcceptedDumps(BaselineStore.of(subject.project), "cpu")
    try:
        for case in subject.cases:
            record = to_json(replace(case, revision=""))
            parts.append(json.dumps(record, sort_keys=True))
            parts += _accepted(accepted.baseline(case))
            parts += _computed(subject.verdicts.get(case.name))
            for path in dict.fromkeys(experiment.named_files(record)):
                parts += _contents(path)
    except (OSError, GpuregressError, _UnknownContent):
        return ""
    return cache.digest((*parts, *sorted(program.key for program in subject.programs.values())))


def _accepted(baseline: Baseline | None) -> list[str]:
    """What a verdict takes of a baseline; when and by whom it was accepted, and the files' names, decide nothing."""
    if baseline is None:
        return ["no baseline"]
    dumps = [f"{name} {dump.digest}" for of in (baseline.dumps, baseline.first) for name, dump in of.items()]
    others = to_json(replace(baseline, dumps={}, first={}))
    return [*dumps, *(json.dumps(others.get(name), sort_keys=True) for name in ("launch_digests", "timings"))]


def _computed(verdict: Verdict | None) -> list[str]:
    """The contents of inputs, references and results of the unchanged run.

    They tell what the text of the user's functions does not: files that these read, packages that they import.
    """
    if verdict is None or verdict.outcome is None:
        return []
    outcome, observed = verdict.outcome, verdict.outcome.observations
    references = (observed.reference.dumps, observed.reference.facts.unrounded)
    dumps = [*((dump.buffer, dump.digest) for dump in outcome.dumps), *outcome.inputs.items()]
    dumps += [(name, dump.digest) for of in references for name, dump in of.items()]
    return [f"{name} {digest}" for name, digest in dumps]


class _UnknownContent(Exception):
    """A Python file depends on what its text does not tell."""


def _contents(path: Path) -> list[str | bytes]:
    if path.suffix != ".py":
        return [str(path), path.read_bytes()]
    files = source_inputs.inputs(path)
    if files.unknown:
        raise _UnknownContent(files.unknown)
    versions = (f"{name} {version}" for name, version in source_inputs.packages(files).items())
    return [files.structure, *versions, *map(str, files.files), *files.contents]
