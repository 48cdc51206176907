"""From a class path to an instance of the streamlet, or to the reason why there is none."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

from blueprint.catalog import LoadFailure, LoadFailureKind
from blueprint.diagnostics import Span
from blueprint.spelling import near
from streamlets.api.declared import shown
from streamlets.api.logic import SparkStreamletLogic
from streamlets.api.streamlet import SparkStreamlet
from streamlets.project.frames import own_frames, said
from streamlets.project.modules import Project, SessionAtImportError, Shadowed


class StreamletNotLoadedError(Exception):
    """A class path that gives no streamlet; `failure` says why."""

    def __init__(self, failure: LoadFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def streamlet_of(class_name: str, project: Project) -> SparkStreamlet:
    """An instance of a class that was verified.

    Raises:
        StreamletNotLoadedError: it cannot be had any more.
    """
    loaded = load_streamlet(class_name, project, tuple)
    if isinstance(loaded, LoadFailure):
        raise StreamletNotLoadedError(loaded)
    return loaded


def load_streamlet(
    class_name: str, project: Project, classes: Callable[[], Iterable[str]]
) -> SparkStreamlet | LoadFailure:
    """Import a class and make an instance.

    Arguments:
        class_name: `module.Class`.
        classes: gives the class paths of the project, for suggestions; asked only when one is needed.
    """
    module_name, _, name = class_name.rpartition(".")
    project.enter()
    shadowed = project.shadowed(module_name)
    if shadowed is not None:
        return _shadows(shadowed)
    module = _module(module_name, class_name, project, classes)
    if isinstance(module, LoadFailure):
        return module
    found = getattr(module, name, None)
    if found is None:
        return _no_class(module, class_name, project, classes)
    return _instance(found, class_name, project, classes)


def raised(kind: LoadFailureKind, error: BaseException, project: Project, declared: Span | None = None) -> LoadFailure:
    """A failure that the author's code raised, with the author's frames."""
    return LoadFailure(kind, said(error), own_frames(error, project.owns), declared=declared)


def found_at(found: type) -> Span:
    """Where the name of a class stands in its `class` statement; its file's beginning when that cannot be told."""
    file = getattr(inspect.getmodule(found), "__file__", None)
    if file is None:
        return Span("<unknown>", 1, 1, 1, 1)
    try:
        lines = Path(file).read_text(encoding="utf-8", errors="replace").split("\n")  # a form feed ends no line
    except OSError:
        lines = []
    statement = re.compile(rf"\s*class\s+({re.escape(found.__name__)})\b")
    matches = [(number, match) for number, line in enumerate(lines, 1) if (match := statement.match(line))]
    if not matches:
        return Span(shown(file), 1, 1, 1, 1)
    number, match = min(matches, key=lambda item: (len(item[1][0]) - len(item[1][0].lstrip()), item[0]))
    return Span(shown(file), number, match.start(1) + 1, number, match.end(1) + 1)


def _module(
    module_name: str, class_name: str, project: Project, classes: Callable[[], Iterable[str]]
) -> ModuleType | LoadFailure:
    if not module_name:
        message = f"`{class_name}` names no module: a class is written `module.{class_name}`"
        return _missing(message, class_name, classes)
    try:
        module = project.load(module_name)
        return _hidden_cli(module_name, project) or module
    except KeyboardInterrupt:
        raise
    except SessionAtImportError as error:
        cause = error.__cause__ or error
        message = (
            f"the module `{module_name}` starts a Spark session while it is imported: "
            "take `self.session` in the logic instead"
        )
        return LoadFailure(LoadFailureKind.MODULE_RAISES, message, own_frames(cause, project.owns))
    except BaseException as error:  # noqa: BLE001 - it is the author's code, and may even exit
        hidden = _hidden_cli(module_name, project)
        if hidden is not None:
            return hidden
        if isinstance(error, ModuleNotFoundError) and _is_within(error.name, module_name):
            return _missing(f"there is no module `{error.name}`", class_name, classes)
        return raised(LoadFailureKind.MODULE_RAISES, error, project)


def _hidden_cli(module_name: str, project: Project) -> LoadFailure | None:
    """A `cli` of the project does no harm until a module of the project imports it and gets the framework's."""
    file = project.find("cli")
    importer = project.importer_of("cli", module_name) if file is not None and file.is_file() else None
    if file is None or importer is None:
        return None
    return _shadows(Shadowed("cli", file, f"a package of the framework, and `{shown(str(importer))}` imports it"))


def _is_within(missing: str | None, module: str) -> bool:
    return missing is not None and f"{module}.".startswith(f"{missing}.")


def _missing(message: str, class_name: str, classes: Callable[[], Iterable[str]]) -> LoadFailure:
    return LoadFailure(LoadFailureKind.MODULE_NOT_FOUND, message, near=_near(class_name, classes()))


_FRAMEWORK = ("streamlets.Sink",)
"""The framework's own streamlets, meant as often as the project's."""


def _near(class_name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Class paths that end with the same class, then those of which module and class are both near."""
    parts = [path.rpartition(".") for path in sorted({*known, *_FRAMEWORK})]
    module, _, last = class_name.rpartition(".")
    same = [part for part in parts if part[2] == last]
    modules = {module, *near(module, {part[0] for part in parts})} if module else {part[0] for part in parts}
    classes = near(last, {part[2] for part in parts if part[0] in modules})
    close = [part for name in classes for part in parts if part[2] == name and part[0] in modules]
    return tuple(dict.fromkeys("".join(part) for part in (*same, *close)))[:3]


def _no_class(
    module: ModuleType, class_name: str, project: Project, classes: Callable[[], Iterable[str]]
) -> LoadFailure:
    name = class_name.rpartition(".")[2]
    here = [other for other, value in vars(module).items() if _is_streamlet_of(module, value)]
    close = [f"{module.__name__}.{other}" for other in near(name, here)]
    return LoadFailure(
        LoadFailureKind.CLASS_NOT_FOUND,
        f"the module `{module.__name__}` has no class `{name}`",
        near=tuple(dict.fromkeys((*close, *_near(class_name, classes()))))[:3],
        declared=_file_span(Path(module.__file__)) if module.__file__ and project.owns(module.__file__) else None,
    )


def _instance(
    found: object, class_name: str, project: Project, classes: Callable[[], Iterable[str]]
) -> SparkStreamlet | LoadFailure:
    if not isinstance(found, type) or not issubclass(found, SparkStreamlet):
        is_class = isinstance(found, type)
        return LoadFailure(
            LoadFailureKind.NOT_A_STREAMLET,
            f"`{class_name}` is {'a class, but no `SparkStreamlet`' if is_class else f'no class, but {found!r:.60}'}",
            near=_near(class_name, classes()),
            declared=_own_place(found, project) if isinstance(found, type) else None,
        )
    lacking = _lacks(found)
    if lacking is not None:
        declared = _own_place(found, project)
        return LoadFailure(LoadFailureKind.ABSTRACT, f"`{class_name}` is abstract: {lacking}", declared=declared)
    try:
        return found()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - it is the author's code
        return raised(LoadFailureKind.CONSTRUCTOR_RAISES, error, project, found_at(found))


def _own_place(found: type, project: Project) -> Span | None:
    """Where a class of the project stands; None for others, whose source is not the author's to look at."""
    file = getattr(inspect.getmodule(found), "__file__", None)
    return found_at(found) if file is not None and project.owns(file) else None


def _lacks(streamlet: type[SparkStreamlet]) -> str | None:
    missing = sorted(getattr(streamlet, "__abstractmethods__", ()))
    if missing:
        return f"it does not define `{missing[0]}`"
    if streamlet.create_logic is not SparkStreamlet.create_logic:
        return None
    logic = getattr(streamlet, "Logic", None)
    if logic is None:
        return "it has no class `Logic`"
    if not isinstance(logic, type) or not issubclass(logic, SparkStreamletLogic):
        return "its `Logic` is no `SparkStreamletLogic`"
    undefined = sorted(getattr(logic, "__abstractmethods__", ()))
    return f"its `Logic` does not define `{undefined[0]}`" if undefined else None


def _shadows(shadowed: Shadowed) -> LoadFailure:
    return LoadFailure(
        LoadFailureKind.MODULE_SHADOWED,
        f"the module `{shadowed.name}` of the project is called like {shadowed.other}: rename it",
        declared=_file_span(shadowed.file),
    )


def _file_span(file: Path | None) -> Span | None:
    return Span(shown(str(file)), 1, 1, 1, 1) if file is not None and file.is_file() else None


def _is_streamlet_of(module: ModuleType, value: object) -> bool:
    return isinstance(value, type) and issubclass(value, SparkStreamlet) and value.__module__ == module.__name__
