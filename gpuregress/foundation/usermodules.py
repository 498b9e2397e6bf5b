"""Loader of user functions, `file.py:function`, with a module namespace for each folder.

While a function runs, its folder is on `sys.path`, after the standard library and before what is installed, and
`sys.modules` holds the modules that code of this folder imported. Afterwards both are as they were, and so are warning
filters, numpy's handling of floating-point errors, and all that `process_state` lists. Installed packages are shared.

Code of a user is compiled from its source text: bytecode is identified by the time and size of its source, which
an edited file may share with its predecessor.
"""

from __future__ import annotations

import ast
import contextlib
import contextvars
import functools
import importlib.util
import itertools
import linecache
import os
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, TypeVar

import xxhash

from gpuregress.foundation import process_state
from gpuregress.foundation.wording import joined

R = TypeVar("R")
_PACKAGE = str(Path(__file__).parents[1])
"""The folder of gpuregress itself, which may lie outside of the installed packages: a developer's clone."""


class UserModuleError(Exception):
    """The file or function does not exist, or cannot be imported; the message says which."""


class UserCodeExit(Exception):
    """User code raised SystemExit or another BaseException, which is the cause of this."""


class UserFunction:
    """A user function that is called among the modules of its own folder.

    A process that it forks, and in which it returns, ends there: nobody else answers in this one's place.

    Args:
        namespace: of its folder.
        function: what the module holds.
    """

    def __init__(self, namespace: _Namespace, function: Callable[..., Any]) -> None:
        self._namespace = namespace
        self._function = function
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function.

        Raises:
            UserCodeExit: the code raised another BaseException.
            Exception: whatever the function raises.
        """
        return self._namespace.run(lambda: self._function(*arguments, **named))


def load(path: str) -> UserFunction:
    """Load the function `/abs/file.py:function`; its file is imported once in a process.

    Raises:
        UserModuleError: see there.
    """
    file, _, name = path.rpartition(":")
    if not file or not name:
        raise UserModuleError(f"{path!r} names no function: write file.py:function")
    namespace, module = _imported(file)
    function = getattr(module, name, None)
    if not callable(function):
        known = sorted(key for key, value in vars(module).items() if callable(value) and not key.startswith("_"))
        raise UserModuleError(f"{file} has no function {name!r}; it has: {', '.join(known) or 'none'}")
    return UserFunction(namespace, function)


def _imported(file: str, partial: PartialImport | None = None) -> tuple[_Namespace, ModuleType]:
    """Import a file; the namespace of its folder, and its module."""
    if not Path(file).is_file():
        raise UserModuleError(f"there is no file {file}")
    folder = str(Path(file).resolve().parent)
    namespace = _namespace(folder) if partial is None else _Namespace(folder, partial)
    try:
        return namespace, namespace.module(file)
    except Exception as wrong:
        raise UserModuleError(f"{file} cannot be imported: {describe_error(wrong, file)}") from wrong


class PartialImport:
    """An import of parts of files, and the modules that were looked for in vain while the code ran.

    Attributes:
        trees: real path of a file → the statements that are executed of it, in place of all. Of a package's
            `__init__.py` without an entry, none are.
        missed: package that is not installed → the first line that looked for it, `k.py:3`.
    """

    def __init__(self, trees: Mapping[str, ast.Module]) -> None:
        self.trees = trees
        self.missed: dict[str, str] = {}

    def code(self, loader: SourceFileLoader, text: bytes) -> CodeType:
        """Compile the statements of a file."""
        nothing = ast.Module([], []) if Path(loader.path).name == "__init__.py" else text
        executed = self.trees.get(os.path.realpath(loader.path), nothing)
        code: CodeType = loader.source_to_code(executed, loader.path)
        return code

    def find_spec(self, name: str, path: object = None, _target: object = None) -> None:
        """Note a module that no other finder has; called by the import system."""
        if path is None:
            self._note(name)

    def find_distributions(self, context: Any) -> Iterator[Any]:
        """Note a package whose version was asked for; called by `importlib.metadata`."""
        if context.name:
            self._note(context.name)
        return iter(())

    def _note(self, name: str) -> None:
        frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - there is no other way to the importing line
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        if frame is not None and not is_installed_file(frame.f_code.co_filename):
            self.missed.setdefault(name, f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")


def call_with(file: str, code: Callable[[ModuleType], R], partial: PartialImport | None = None) -> R:
    """Import a file of the user, and call code with its module, among the modules of the file's folder.

    Args:
        file: absolute.
        code: what is called.
        partial: what is executed of the files; None: all. Modules of a partial import are shared with no other call.

    Raises:
        UserModuleError: there is no such file, or it cannot be imported.
        UserCodeExit: the code raised another BaseException.
        Exception: whatever the code raises.
    """
    namespace, module = _imported(file, partial)
    return namespace.run(lambda: code(module))


def files(path: str) -> dict[str, str]:
    """The files of the modules that code in the folder of `/abs/file.py:function` imported, each with its stamp."""
    return _namespace(str(Path(path.rpartition(":")[0]).resolve().parent)).files


def describe_error(wrong: BaseException, file: str = "") -> str:
    """An exception of the user's code in one line, with the last line of their file that it passed.

    Args:
        wrong: the exception.
        file: theirs; "": any that this package's code called.
    """
    if isinstance(wrong, UserCodeExit) and wrong.__cause__ is not None:
        wrong = wrong.__cause__
    frames, ours = traceback.extract_tb(wrong.__traceback__), f"{_PACKAGE}{os.sep}"
    if file:
        theirs = [frame for frame in frames if frame.filename == file]
    else:
        called = list(itertools.dropwhile(lambda frame: not frame.filename.startswith(ours), frames)) or frames
        theirs = [frame for frame in called if not frame.filename.startswith(ours)]
    text = type(wrong).__name__
    with contextlib.suppress(Exception):  # their __str__ may raise
        text = joined(": ", text, first_words(str(wrong)))
    for frame in theirs[-1:]:
        text += f" (line {frame.lineno} of {Path(frame.filename).name})"
    return text


def installed_version(distribution: str) -> str:
    """Return the version of an installed distribution; "" where there is none."""
    from importlib import metadata  # noqa: PLC0415 - 9 ms, in every process; a cached case asks for no version

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def first_words(text: str) -> str:
    """The first line of a message, and the second one where the first announces it: `Error at driver init: …`."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and lines[0].endswith(":"):
        return " ".join(lines[:2])
    return "".join(lines[:1])


class _Namespace:
    """The modules that code of one folder imported.

    Args:
        folder: absolute.
        partial: what is executed of its files; None: all.
    """

    def __init__(self, folder: str, partial: PartialImport | None = None) -> None:
        self._folder = folder
        self._partial = partial
        names = package_names(f"{folder}{os.sep}_")
        self._above = [str(Path(folder).parents[len(names) - 1])] if names else []
        self._modules: dict[str, ModuleType] = {}
        self._files: dict[str, ModuleType] = {}
        self._stamps: dict[str, str] = {}
        self._patches: process_state.Patches = {}
        self._context = contextvars.copy_context()
        self._filters = list(warnings.filters)

    @property
    def files(self) -> dict[str, str]:
        """File of a module → its stamp when it was imported."""
        return dict(self._stamps)

    def run(self, code: Callable[[], R]) -> R:
        """Calls code of the folder among its modules, under its own warning filters and context variables.

        numpy keeps what to do about floating-point errors in a context variable, and so does decimal.

        Raises:
            UserCodeExit: the code raised another BaseException.
        """
        with self.entered(), warnings.catch_warnings():
            warnings.filters = self._filters
            try:
                return self._context.run(code)
            except (Exception, KeyboardInterrupt):  # nobody but the system interrupts a worker
                raise
            except BaseException as wrong:
                raise UserCodeExit from wrong
            finally:
                self._filters = warnings.filters

    def module(self, file: str) -> ModuleType:
        """A file of the folder as a module, under its own name unless that is another module's.

        Where a file was edited since it was imported, all of the folder's are imported anew.
        """
        if any(stamp(path) != before for path, before in self._stamps.items()):
            for known in (self._modules, self._files, self._stamps):
                known.clear()
            importlib.invalidate_caches()  # a module may be new
        if file not in self._files:
            self._files[file] = self.run(lambda: self._imported(file))
        return self._files[file]

    def _imported(self, file: str) -> ModuleType:
        name, packages = Path(file).stem, package_names(file)
        if packages and "." not in name and _imports_relatively(file):
            return self._imported_in_package(file, packages)
        if name in sys.stdlib_module_names or name in sys.modules or not name.isidentifier():
            name = f"gpuregress_user_{len(self._files)}_{name}"
        return self._loaded(name, importlib.util.spec_from_file_location(name, file))

    def _loaded(self, name: str, spec: ModuleSpec | None) -> ModuleType:
        """Execute a module under a name."""
        if spec is None or spec.loader is None:
            raise ImportError("it is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
        return module

    def _imported_in_package(self, file: str, packages: Sequence[str]) -> ModuleType:
        """Import a file as a module of its package, which is imported first, under its own name if that is free."""
        folder, name = Path(file).parents[len(packages) - 1], packages[0]
        known = [one for one, module in self._modules.items() if "." not in one and str(folder) in _places(module)]
        if known:
            name = known[0]
        else:
            if name in sys.modules or name in sys.stdlib_module_names or not name.isidentifier():
                name = f"gpuregress_user_{len(self._files)}_{name}"
            path, places = folder / "__init__.py", [str(folder)]
            self._loaded(name, importlib.util.spec_from_file_location(name, path, submodule_search_locations=places))
        return importlib.import_module(".".join((name, *packages[1:], Path(file).stem)))

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """The folder's modules and its place on the path; all as before when the block ends."""
        process, before = os.getpid(), dict(sys.modules)
        sys.modules.update(self._modules)
        try:
            with process_state.restored(self._patches), _compiled_from_source(self._stamps, self._partial):
                sys.path[:] = _path_with(self._folder, *self._above)
                sys.dont_write_bytecode = True
                yield
        finally:
            if os.getpid() != process:
                os._exit(0)
            self._leave(before)

    def _leave(self, before: dict[str, ModuleType]) -> None:
        """Keep the imported modules for the next call, and remove those that are not installed from `sys.modules`."""
        removed = {name: module for name, module in before.items() if name not in sys.modules}
        sys.modules.update(removed)
        for name, module in list(sys.modules.items()):
            if before.get(name) is module or (name not in before and _is_installed(module)):
                continue
            self._modules[name] = module
            if path := getattr(module, "__file__", None):
                self._stamps.setdefault(path, stamp(path))
            if name in before:
                sys.modules[name] = before[name]
            else:
                del sys.modules[name]


@contextlib.contextmanager
def _compiled_from_source(stamps: dict[str, str], partial: PartialImport | None) -> Iterator[None]:
    """Have modules that are not installed compiled from their source text, whoever finds them.

    Code of a user also loads files by `spec_from_file_location` or with a `SourceFileLoader`, which asks no finder. So
    the loader's own method is replaced. No lines are kept of an earlier text.

    Args:
        stamps: file of such a module → its stamp, added when it is read.
        partial: what is executed of the files; None: all.
    """
    cached = SourceFileLoader.get_code
    _installed_folders()  # the first use of sysconfig imports a module, whose loader must not ask sysconfig again

    def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        if is_installed_file(loader.path):
            return cached(loader, fullname)
        text = loader.get_data(loader.path)
        stamps[loader.path] = xxhash.xxh3_128_hexdigest(text)
        linecache.cache.pop(loader.path, None)
        if partial is not None:
            return partial.code(loader, text)
        code: CodeType | None = loader.source_to_code(text, loader.path)
        return code

    finders = sys.meta_path
    # pytest keeps bytecode of its own for the modules in which it rewrites `assert`.
    sys.meta_path = [finder for finder in finders if not type(finder).__module__.startswith("_pytest.")]
    if partial is not None:
        sys.meta_path.append(partial)
    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        SourceFileLoader.get_code = cached  # type: ignore[method-assign]
        sys.meta_path = finders


def stamp(path: str) -> str:
    """A text that tells two states of a module's file apart: the digest of a source, the inode of a library."""
    try:
        if path.endswith(".py"):
            return xxhash.xxh3_128_hexdigest(Path(path).read_bytes())
        status = Path(path).stat()
    except OSError:
        return ""
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


@functools.lru_cache(maxsize=256)
def _namespace(folder: str) -> _Namespace:
    return _Namespace(folder)


def package_names(file: str) -> list[str]:
    """The names of the packages that a file is in, the outermost first; a package's folder has an `__init__.py`."""
    names: list[str] = []
    for folder in Path(file).parents:
        if not (folder / "__init__.py").is_file():
            break
        names.insert(0, folder.name)
    return names


def _imports_relatively(file: str) -> bool:
    """Whether a file has an import such as `from .utils import size`. Others need no package around the file."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (SyntaxError, ValueError):
        return False  # the import reports it
    return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in ast.walk(tree))


def _path_with(*folders: str) -> list[str]:
    """Insert the folders into `sys.path`, after the standard library and before installed packages."""
    standard = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}

    def is_standard(entry: str) -> bool:
        return entry.endswith(".zip") or entry in standard or str(Path(entry).parent) in standard

    own = [entry for entry in sys.path if is_standard(entry) and Path(entry).name not in _INSTALLED]
    return [*own, *folders, *(entry for entry in sys.path if entry not in own and entry not in folders)]


_INSTALLED = frozenset({"site-packages", "dist-packages"})


@functools.cache
def _installed_folders() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {sysconfig.get_path(name) for name in names} | {_PACKAGE}
    return tuple(f"{folder}{os.sep}" for folder in folders if folder)


def _is_installed(module: ModuleType) -> bool:
    """Tell whether a module is Python's own, this package's, built in or installed."""
    paths = [getattr(module, "__file__", None) or "", *_places(module)]
    return all(is_installed_file(path) for path in paths if path)


def is_installed_file(path: str) -> bool:
    """Tell whether a file is Python's own, this package's or installed."""
    return path.startswith(_installed_folders()) or not _INSTALLED.isdisjoint(Path(path).parts)


def _places(module: ModuleType) -> list[str]:
    try:
        return [str(folder) for folder in getattr(module, "__path__", ())]
    except Exception:  # noqa: BLE001 - a lazy module of the user may do anything when it is looked at
        return []
