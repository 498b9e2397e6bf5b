"""Programs of jobs with `program`: commands, the files that stand for them, and rules of buffers."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpuregress.foundation import dtypes, records
from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.records import UNTYPED, Rule, WholeProgram, pattern_of
from gpuregress.foundation.wording import first_names
from gpuregress.gpu.records import Record
from gpuregress.jobs import revision
from gpuregress.jobs.plan import comparison_rules
from gpuregress.jobs.plan.job_plan import AUTO, LabelRequest
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.resolve import rules
from gpuregress.jobs.spec.resolve.scope import Scope, absolute, resolved_dtype
from gpuregress.store.project import Project
from gpuregress.toolchain import programs

_OURS = ("GPUREGRESS_", "LD_LIBRARY_PATH", "NUMBA_CUDA_DRIVER")
"""How the variables begin by which a program finds the virtual GPU."""


class PlannedProgram(Record):
    """The program of a case.

    Attributes:
        program: what is run.
        source: the files that stand for it.
        request: the position of these files among those whose revision is wanted.
    """

    program: WholeProgram
    source: records.Source
    request: int


class JobPrograms:
    """The programs of a job's cases; those of the same files share a revision.

    Args:
        file: the job.
        problems: collects the errors.
        project: in whose folder they run.

    Attributes:
        requests: the distinct sets of files so far, whose revisions are wanted.
        notes: for the user.
    """

    def __init__(self, file: JobFile, problems: Problems, project: Project) -> None:
        self._file, self._job, self._problems, self._project = file, file.job, problems, project
        self._known: dict[tuple[Path, ...], tuple[records.Source, int] | None] = {}
        self.requests: list[LabelRequest] = []
        self.notes: dict[str, None] = {}

    def of_case(self, scope: Scope) -> PlannedProgram | None:
        """Plan the program of a case; None if something in it is invalid, which is reported."""
        before = scope.problems.reported
        command = self._command(scope)
        environment = self._environment(scope)
        element_types = {}
        for name, text in self._job.dtypes.items():
            element_types[name] = resolved_dtype(scope, text, ("dtypes", name)) or UNTYPED
        compare = self._rules(scope, element_types)
        dump = self._dump(scope)
        files = self._files(scope, command or ())
        if scope.problems.reported > before or command is None or not files:
            return None
        found = self._source(files)
        if found is None:
            return None
        program = WholeProgram(
            command=command,
            folder=str(self._project.root),
            environment=environment,
            dumps=self._job.dumps,
            dump=dump,
            dtypes=element_types,
            compare=compare,
            defaults=comparison_rules.default_rules(self._project),
        )
        return PlannedProgram(program, *found)

    # --- the command --------------------------------------------------------------------------------------------------

    def _command(self, scope: Scope) -> tuple[str, ...] | None:
        """The program, absolute where it is a file, and its arguments; None if it is not there, which is reported."""
        written, key = self._job.program, ("program",)
        words: list[str | None]
        if isinstance(written, str):
            filled = scope.text(written, key, strict=True)
            try:
                words = [*shlex.split(filled or "")]
            except ValueError as error:
                scope.error(key, f"cannot be split into words ({error}): give a list of them", written)
                return None
            if filled is None:
                return None
        else:
            words = [scope.text(word, (*key, at), strict=True) for at, word in enumerate(written or ())]
        command = [word for word in words if word is not None]
        if len(command) < len(words) or not command:
            return None
        program = command[0]
        if "/" in program:
            path = self._project.root / program
            if not path.is_file():
                scope.error(key, f"program not found: {path}; build it first, or correct the path", *_texts(written))
                return None
            program = str(path)
        elif shutil.which(program) is None:
            scope.error(key, f"no program {program!r} is on the PATH; a file of the project is ./{program}")
            return None
        return (program, *command[1:])

    def _environment(self, scope: Scope) -> dict[str, str]:
        values = {}
        for name, text in self._job.environment.items():
            key = ("environment", name)
            if name.startswith(_OURS):
                scope.problems.add(key, "is set by gpuregress, so that the program finds the virtual GPU: take it out")
            values[name] = scope.text(text, key, strict=True) or ""
        return values

    # --- the files that stand for it ----------------------------------------------------------------------------------

    def _files(self, scope: Scope, command: Sequence[str]) -> tuple[Path, ...]:
        """The files that decide the program's revision; none if `sources` is wrong, which is reported."""
        if self._job.sources or not command:
            files = self._sources(scope)
            self._note_stale_program(command, files)
            return files
        root = self._project.root
        named = []
        for word in command:
            path = root / word
            try:
                is_of_project = path.is_file() and path.is_relative_to(root)
            except (OSError, ValueError):
                continue  # a word that is no file's name
            if is_of_project:
                named.append(path)
        if named:
            return tuple(dict.fromkeys(named))
        text = "its command names no file of the project: name its `sources`, which its revision and --changed go by"
        self.notes[text] = None
        return (Path(shutil.which(command[0]) or command[0]),)

    def _note_stale_program(self, command: Sequence[str], sources: Sequence[Path]) -> None:
        """Note that an executable is older than its sources, so that another one may be meant."""
        program = Path(command[0]) if command else self._project.root
        if not program.is_file() or program in sources:
            return
        newer = [path.name for path in sources if path.stat().st_mtime > program.stat().st_mtime]
        if newer:
            self.notes[f"{program} is older than {first_names(newer)}: build it again, unless it is the same"] = None

    def _sources(self, scope: Scope) -> tuple[Path, ...]:
        files: dict[Path, None] = {}
        for position, text in enumerate(self._job.sources):
            key = ("sources", position)
            filled = scope.text(text, key, strict=True)
            if filled is None:
                continue
            pattern = absolute(scope.problems, filled)
            found = sorted(path for path in Path("/").glob(str(pattern).lstrip("/")) if path.is_file())
            if not found:
                scope.error(key, f"no file is called {pattern}", text)
            files |= dict.fromkeys(found)
        return tuple(files)

    def _source(self, files: tuple[Path, ...]) -> tuple[records.Source, int] | None:
        """The source of a program, and the position of its request; None if a file cannot be read."""
        if files not in self._known:
            self._known[files] = self._read(files)
        return self._known[files]

    def _read(self, files: tuple[Path, ...]) -> tuple[records.Source, int] | None:
        source = records.Source(str(files[0]), files=tuple(map(str, files)))
        wanted = self._job.revision
        problem = revision.problem(wanted) if wanted != AUTO else None
        if problem:
            self._problems.add(("revision",), problem)
            return None
        try:
            inputs = programs.inputs(source)
        except OSError as error:
            key = "sources" if self._job.sources else "program"
            self._problems.add((key,), f"{error.filename} cannot be read: {error.strerror or error}")
            return None
        self.requests.append(LabelRequest(wanted, ((files[0], inputs),)))
        source = records.Source(str(files[0]), files=source.files, digest=inputs.digest)
        return source, len(self.requests) - 1

    # --- its buffers --------------------------------------------------------------------------------------------------

    def _dump(self, scope: Scope) -> tuple[str, ...]:
        wanted = self._job.dump
        if wanted is None or wanted == "all":
            return ("*",)
        if not wanted:
            scope.problems.add(("dump",), "names no buffer, so nothing can be compared: take it out, or name some")
        for position, name in enumerate(wanted):
            if "," in name or not name.strip():
                scope.problems.add(("dump", position), f"{name!r} is no buffer's name and no pattern")
        return tuple(wanted)

    def _rules(self, scope: Scope, element_types: Mapping[str, str]) -> dict[str, Rule]:
        """The rules of `compare`; one that is wrong for every type that its buffers may have is reported."""
        resolved = {}
        for name, item in self._job.compare.items():
            key: Key = ("compare", name)
            before = scope.problems.reported
            possible = self._possible_types(name, element_types)
            element = dtypes.parse(possible[0])
            rule = rules.rule(scope, item, element, key)
            if scope.problems.reported > before:
                continue
            unsound = [rules.validate_rule(rule, dtypes.parse(dtype)) for dtype in possible]
            if all(unsound):
                for below, message in unsound[0]:
                    hint = "" if name in element_types else "; `dtypes` gives the type of a buffer's elements"
                    scope.error((*key, *below), f"{message}{hint}")
            if rule.verify is not None:
                comparison_rules.check_function(scope, (*key, "verify"), rule.verify)
            resolved[name] = rule
        return resolved

    @staticmethod
    def _possible_types(name: str, element_types: Mapping[str, str]) -> tuple[str, ...]:
        """The types that the buffers of a name or pattern may have, the most likely first."""
        pattern = pattern_of(name.replace("*", "1").replace("?", "1"), element_types)
        likely = element_types[pattern] if pattern is not None else UNTYPED
        if "*" not in name and "?" not in name:
            return (likely,)
        return tuple(dict.fromkeys((likely, *element_types.values())))


def _texts(written: str | list[str] | None) -> Sequence[str]:
    return [written] if isinstance(written, str) else written or ()
