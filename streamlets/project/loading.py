"""Creates the instance of a streamlet for a class path, or reports why it cannot be created."""

from __future__ import annotations

import importlib
import inspect
import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TypeGuard

from blueprint.catalog import LoadFailure, LoadFailureKind
from blueprint.diagnostics import Frame, Span
from blueprint.plan import StreamletPlan
from blueprint.spelling import near
from streamlets.api.declaration import Declaration
from streamlets.api.errors import StreamletError
from streamlets.api.logic import SparkStreamletLogic
from streamlets.api.source_location import display_path, instruction_location
from streamlets.api.streamlet import SparkStreamlet, Streamlet
from streamlets.project.modules import Project, SessionAtImportError, Shadowed
from streamlets.project.signatures import Misfit, misfits

MAX_FRAMES = 12
"""The maximum number of frames of an error; in a runaway recursion, the others repeat these."""


class StreamletNotLoadedError(Exception):
    """A class path cannot be loaded as a streamlet; `failure` has the reason."""

    def __init__(self, failure: LoadFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def streamlet_of(plan: StreamletPlan, project: Project) -> Streamlet:
    """Return an instance of a streamlet that was verified.

    Raises:
        StreamletNotLoadedError: it can no longer be loaded.
    """
    loaded = load_streamlet(plan.class_name, project, tuple)
    if isinstance(loaded, LoadFailure):
        raise StreamletNotLoadedError(loaded)
    loaded.declare_ports([inlet.name for inlet in plan.inlets], [outlet.name for outlet in plan.outlets])
    return loaded


def load_streamlet(class_name: str, project: Project, classes: Callable[[], Iterable[str]]) -> Streamlet | LoadFailure:
    """Import a class and create an instance.

    Arguments:
        class_name: the class path, `module.Class`.
        project: the project of the module.
        classes: returns the class paths of the project; called only if suggestions are needed.
    """
    module_name, _, name = class_name.rpartition(".")
    project.enter()
    shadowed = project.shadowed(module_name)
    if shadowed is not None:
        return _shadowing_failure(shadowed)
    module = _module(module_name, class_name, project, classes)
    if isinstance(module, LoadFailure):
        return module
    value = getattr(module, name, None)
    if value is None:
        return _no_class(module, class_name, project, classes)
    return _instance(value, class_name, project, classes)


def raised_failure(
    kind: LoadFailureKind, error: BaseException, project: Project, declared: Span | None = None
) -> LoadFailure:
    """Return the failure for an error that the author's code raised, with the frames of that code.

    For a `StreamletError`, which names its place in that code, the failure has this place instead.
    """
    if isinstance(error, StreamletError):
        return LoadFailure(kind, error.message, declared=error.place.span if error.place is not None else declared)
    return LoadFailure(kind, describe_exception(error), own_frames(error, project.owns), declared=declared)


def own_frames(error: BaseException, owns: Callable[[str], bool]) -> tuple[Frame, ...]:
    """Return the frames of an error in the files that `owns` accepts, outermost first.

    The location of a syntax error comes last.
    """
    frames = tuple(_traceback_frames(error.__traceback__, owns))
    if isinstance(error, SyntaxError) and error.filename and owns(error.filename):
        line, column = error.lineno or 1, error.offset or 1
        end = (error.end_lineno or line, max(error.end_offset or 0, column + 1))
        frames += (Frame(Span(display_path(error.filename), line, column, *end), "<module>"),)
    return frames if len(frames) <= MAX_FRAMES else (*frames[: MAX_FRAMES // 2], *frames[-MAX_FRAMES // 2 :])


def describe_exception(error: BaseException) -> str:
    """Return the type and the message of an exception on one line."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    lines = traceback.format_exception_only(error)
    return " ".join(lines[0].strip().split()) if lines else type(error).__name__


def _traceback_frames(trace: TracebackType | None, owns: Callable[[str], bool]) -> Iterator[Frame]:
    while trace is not None:
        code = trace.tb_frame.f_code
        if owns(code.co_filename):
            yield Frame(instruction_location(code, trace.tb_lasti, trace.tb_lineno).span, code.co_qualname)
        trace = trace.tb_next


def class_span(cls: type) -> Span:
    """Return the span of the name of a class in its `class` statement; the start of its file if there is none."""
    file = getattr(inspect.getmodule(cls), "__file__", None)
    if file is None:
        return Span("<unknown>", 1, 1, 1, 1)
    try:
        lines = (
            Path(file).read_text(encoding="utf-8", errors="replace").split("\n")
        )  # `splitlines` would split at form feeds
    except OSError:
        lines = []
    statement = re.compile(rf"\s*class\s+({re.escape(cls.__name__)})\b")
    matches = [(number, match) for number, line in enumerate(lines, 1) if (match := statement.match(line))]
    if not matches:
        return Span(display_path(file), 1, 1, 1, 1)
    number, match = min(matches, key=lambda item: (len(item[1][0]) - len(item[1][0].lstrip()), item[0]))
    return Span(display_path(file), number, match.start(1) + 1, number, match.end(1) + 1)


def _module(
    module_name: str, class_name: str, project: Project, classes: Callable[[], Iterable[str]]
) -> ModuleType | LoadFailure:
    if not module_name:
        message = f"`{class_name}` has no module: write the class as `module.{class_name}`"
        return _module_not_found(message, class_name, classes)
    try:
        module = project.load(module_name)
        return _hidden_cli(module_name, project) or module
    except KeyboardInterrupt:
        raise
    except SessionAtImportError as error:
        cause = error.__cause__ or error
        message = (
            f"the module `{module_name}` starts a Spark session during its import: "
            "use `self.session` in the logic instead"
        )
        return LoadFailure(LoadFailureKind.MODULE_RAISES, message, own_frames(cause, project.owns))
    except BaseException as error:  # noqa: BLE001 - code of the author, which may even exit
        hidden = _hidden_cli(module_name, project)
        if hidden is not None:
            return hidden
        if isinstance(error, ModuleNotFoundError) and _is_within(error.name, module_name):
            return _module_not_found(f"there is no module `{error.name}`", class_name, classes)
        return raised_failure(LoadFailureKind.MODULE_RAISES, error, project)


def _hidden_cli(module_name: str, project: Project) -> LoadFailure | None:
    """Return the failure if a module of the project imports its module `cli`, as it gets the framework's module."""
    file = project.find("cli")
    importer = project.importer_of("cli", module_name) if file is not None and file.is_file() else None
    if file is None or importer is None:
        return None
    return _shadowing_failure(
        Shadowed("cli", file, f"a package of the framework that `{display_path(str(importer))}` imports")
    )


def _is_within(missing: str | None, module: str) -> bool:
    return missing is not None and f"{module}.".startswith(f"{missing}.")


def _module_not_found(message: str, class_name: str, classes: Callable[[], Iterable[str]]) -> LoadFailure:
    return LoadFailure(LoadFailureKind.MODULE_NOT_FOUND, message, near=_suggestions(class_name, classes()))


FRAMEWORK = "streamlets"
"""The module of the framework's own streamlets."""


def framework_classes() -> tuple[str, ...]:
    """Return the class paths of the framework's own streamlets that a blueprint may name."""
    module = importlib.import_module(FRAMEWORK)  # an import statement would be a cycle: it exports what is below
    exported = ((name, getattr(module, name)) for name in module.__all__)
    return tuple(
        f"{FRAMEWORK}.{name}"
        for name, value in exported
        if isinstance(value, type) and _is_streamlet(value) and _abstract_reason(value) is None
    )


def _suggestions(class_name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return class paths with the same class name, then those whose module and class have similar names."""
    parts = [path.rpartition(".") for path in sorted({*known, *framework_classes()})]
    module, _, last = class_name.rpartition(".")
    same_class = [part for part in parts if part[2] == last]
    modules = {module, *near(module, {part[0] for part in parts})} if module else {part[0] for part in parts}
    classes = near(last, {part[2] for part in parts if part[0] in modules})
    similar = [part for name in classes for part in parts if part[2] == name and part[0] in modules]
    return tuple(dict.fromkeys("".join(part) for part in (*same_class, *similar)))[:3]


def _no_class(
    module: ModuleType, class_name: str, project: Project, classes: Callable[[], Iterable[str]]
) -> LoadFailure:
    name = class_name.rpartition(".")[2]
    streamlets = [other for other, value in vars(module).items() if _is_streamlet_of(module, value)]
    similar = [f"{module.__name__}.{other}" for other in near(name, streamlets)]
    return LoadFailure(
        LoadFailureKind.CLASS_NOT_FOUND,
        f"the module `{module.__name__}` has no class `{name}`",
        near=tuple(dict.fromkeys((*similar, *_suggestions(class_name, classes()))))[:3],
        declared=_file_span(Path(module.__file__)) if module.__file__ and project.owns(module.__file__) else None,
    )


def _instance(
    value: object, class_name: str, project: Project, classes: Callable[[], Iterable[str]]
) -> Streamlet | LoadFailure:
    if not isinstance(value, type):
        message = f"`{class_name}` is not a class, but {value!r:.60}"
        return LoadFailure(LoadFailureKind.NOT_A_STREAMLET, message, near=_suggestions(class_name, classes()))
    if not _is_streamlet(value):
        return LoadFailure(
            LoadFailureKind.NOT_A_STREAMLET,
            f"the class `{class_name}` is not a `SparkStreamlet`",
            near=_suggestions(class_name, classes()),
            declared=_own_class_span(value, project),
        )
    reserved = next(_reserved(value), None)
    if reserved is not None:
        return reserved
    reason = _abstract_reason(value)
    if reason is not None:
        declared = _own_class_span(value, project)
        return LoadFailure(LoadFailureKind.ABSTRACT, f"`{class_name}` is abstract: {reason}", declared=declared)
    misfit = next(_misfits(value), None)
    if misfit is not None:
        return LoadFailure(LoadFailureKind.METHOD_SIGNATURE, misfit.message, declared=misfit.span)
    try:
        return value()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - code of the author
        return raised_failure(LoadFailureKind.CONSTRUCTOR_RAISES, error, project, class_span(value))


def _is_streamlet(cls: type) -> TypeGuard[type[Streamlet]]:
    return issubclass(cls, Streamlet) and hasattr(cls, "kind")


def _reserved(streamlet: type[Streamlet]) -> Iterator[LoadFailure]:
    """Yield the failure for each port, parameter or volume mount that hides an attribute of the framework."""
    bases = [base for base in streamlet.__mro__ if issubclass(base, Streamlet) and _is_of_framework(base)]
    names = {
        name: base
        for base in reversed(bases)
        for name in (*vars(base), *vars(base).get("__annotations__", ()))
        if not isinstance(vars(base).get(name), Declaration)
    }
    for owner in streamlet.__mro__:
        for name, value in () if _is_of_framework(owner) else vars(owner).items():
            if isinstance(value, Declaration) and name in names:
                message = f"`{name}` is an attribute of `{names[name].__name__}`, which the framework uses"
                yield LoadFailure(LoadFailureKind.RESERVED_NAME, message, declared=value.declared.span)


def _own_class_span(cls: type, project: Project) -> Span | None:
    """Return the span of a class of the project; None for other classes, whose source is not the author's."""
    file = getattr(inspect.getmodule(cls), "__file__", None)
    return class_span(cls) if file is not None and project.owns(file) else None


def _abstract_reason(streamlet: type[Streamlet]) -> str | None:
    missing = sorted(getattr(streamlet, "__abstractmethods__", ()))
    if missing:
        return f"it does not define `{missing[0]}`"
    if not issubclass(streamlet, SparkStreamlet) or streamlet.create_logic is not SparkStreamlet.create_logic:
        return None
    logic = getattr(streamlet, "Logic", None)
    if logic is None:
        return "it has no class `Logic`"
    if not isinstance(logic, type) or not issubclass(logic, SparkStreamletLogic):
        return "its `Logic` is not a `SparkStreamletLogic`"
    undefined = sorted(getattr(logic, "__abstractmethods__", ()))
    return f"its `Logic` does not define `{undefined[0]}`" if undefined else None


def _misfits(streamlet: type[Streamlet]) -> Iterator[Misfit]:
    """Yield the methods that do not take what the framework passes, of the streamlet and of its logic."""
    for base in streamlet.__mro__:
        if issubclass(base, Streamlet) and _is_of_framework(base):
            yield from misfits(streamlet, base)
    logic = getattr(streamlet, "Logic", None)
    if isinstance(logic, type) and not _is_of_framework(logic):
        yield from misfits(logic, SparkStreamletLogic, ["build_streaming_queries"])


def _is_of_framework(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == FRAMEWORK


def _shadowing_failure(shadowed: Shadowed) -> LoadFailure:
    return LoadFailure(
        LoadFailureKind.MODULE_SHADOWED,
        f"the module `{shadowed.name}` of the project has the name of {shadowed.other}: rename it",
        declared=_file_span(shadowed.file),
    )


def _file_span(file: Path | None) -> Span | None:
    return Span(display_path(str(file)), 1, 1, 1, 1) if file is not None and file.is_file() else None


def _is_streamlet_of(module: ModuleType, value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Streamlet) and value.__module__ == module.__name__
