"""The deployment of an application: its plan and its files of settings, as pods get them, without secrets."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from blueprint.diagnostics import Span
from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value
from blueprint.settings.layers import ARGUMENTS
from blueprint.settings.secrets import is_reference
from cli.application import Application
from cli.verification.findings import refuse
from streamlets.kubernetes.deployment import (
    APPLICATION,
    CONFIGURATION,
    ConfigFile,
    Deployment,
    Form,
    ManifestError,
)

if TYPE_CHECKING:
    from blueprint.diagnostics import Sources
    from blueprint.kubernetes_settings import KubernetesSettings
    from blueprint.plan import ApplicationPlan

_PLACEHOLDER = "value-of-a-secret"
"""Stands for the values of Secrets in a verification: this machine need not know them."""


class _PodVariables(Mapping[str, str]):
    """The variables of pods and of this machine. It remembers which variables of this machine were read.

    Arguments:
        settings: the settings of the manifests.

    Attributes:
        taken: the variables of this machine that were read.
    """

    def __init__(self, settings: KubernetesSettings) -> None:
        self._given = {**dict.fromkeys(settings.secrets, _PLACEHOLDER), **settings.variables}
        self.taken: set[str] = set()

    def __getitem__(self, name: str) -> str:
        if name in self._given:
            return self._given[name]
        value = os.environ[name]
        self.taken.add(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter({**os.environ, **self._given})

    def __len__(self) -> int:
        return len({**os.environ, **self._given})


@contextmanager
def _as_in_pods(settings: KubernetesSettings) -> Iterator[None]:
    """Give this process the variables of pods that it does not have, as code of authors and checks read them."""
    names = [name for name in {**settings.secrets, **settings.variables} if name not in os.environ]
    os.environ.update({name: settings.variables.get(name, _PLACEHOLDER) for name in names})
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]


def deployment_of(app: Application, form: Form) -> Deployment:
    """Return the deployment of an application.

    Arguments:
        app: the application.
        form: what runs it.

    Raises:
        ManifestError: a secret is written in a file or an argument, or a variable is only known on this machine.
        SystemExit: 2, when the application has errors; the findings have been printed.
    """
    from blueprint.core_settings import ApplicationSettings

    own = app.own_settings or ApplicationSettings()
    variables = _PodVariables(own.kubernetes)
    with _as_in_pods(own.kubernetes):
        verification = app.verify(environment=variables)
    if verification.plan is None:
        refuse(verification)
    if variables.taken:
        name = min(variables.taken)
        raise ManifestError(
            f"the settings use the variable `{name}` of this machine, which pods do not have",
            f"set `flow.kubernetes.variables.{name}` or, if it is a secret, `flow.kubernetes.secrets.{name}`",
        )
    assert verification.settings is not None
    _check_secrets(verification.settings, verification.sources)
    _check_references(verification.settings, own.kubernetes)
    return Deployment(
        plan=verification.plan,
        form=form,
        blueprint=_config_file(app.blueprint, app.directory),
        conf=tuple(_config_file(Path(file), app.directory) for file in app.conf),
        arguments=app.settings,
        outputs=_outputs(verification.plan, app.directory.resolve()),
    )


def _outputs(plan: ApplicationPlan, directory: Path) -> tuple[PurePosixPath, ...]:
    """Return the directories below the one of the blueprint that the application writes, apart from its state.

    It is the first directory of their path, unless this has files that the application does not write.

    Raises:
        ManifestError: the application writes a directory elsewhere, and the settings name no volume for it.
    """
    inner: set[Path] = set()
    for streamlet in plan.streamlets:
        for written in streamlet.descriptor.external.directories:
            text = written.directory.removeprefix("file:")
            if "://" in text:
                continue
            path = Path(os.path.realpath(directory / text))
            if path.is_relative_to(directory):
                inner.add(path)
            elif not any(path.is_relative_to(mounted) for mounted in plan.settings.kubernetes.volumes.values()):
                raise ManifestError(
                    f"`{streamlet.ref}` writes to {path}, which is not on a volume, so its output would be lost with "
                    "the pod",
                    f"name a volume claim for it: `flow.kubernetes.volumes.CLAIM = {path.parent}`",
                )
    return tuple(sorted({APPLICATION / _mounted(path, inner, directory) for path in inner}))


def _mounted(output: Path, outputs: Collection[Path], directory: Path) -> PurePosixPath:
    """Return the first directory of the path of an output, or all of it if others are there, too."""
    top = directory / output.relative_to(directory).parts[0]
    others = (
        path
        for path in (top.rglob("*") if top.is_dir() else ())
        if not any(path.is_relative_to(one) or one.is_relative_to(path) for one in outputs)
    )
    return PurePosixPath(*(output if any(others) else top).relative_to(directory).parts)


def _config_file(file: Path, directory: Path) -> ConfigFile:
    """Return a file as pods have it: where the image has it, or in a directory of its own if it is elsewhere."""
    text = file.read_bytes().decode()
    try:
        inside = file.absolute().resolve().relative_to(directory.absolute().resolve())
    except ValueError:
        return ConfigFile(CONFIGURATION / file.name, text)
    return ConfigFile(APPLICATION / PurePosixPath(*inside.parts), text)


def _check_secrets(settings: ObjectValue, sources: Sources) -> None:
    """Check that no file or argument has a secret: files are in the ConfigMap or the image, which many can read.

    Raises:
        ManifestError: one has.
    """
    places = {(origin.span.file, origin.span) for value in _values(settings) for origin in value.origins}
    references = settings.get("kubernetes")  # names of Secrets and of variables, not their values
    named = [origin.span for value in _values(references) for origin in value.origins] if references else []
    for file in sorted({file for file, _ in places}):
        for number, line in enumerate(sources.lines(file), start=1):
            shown = sources.shown(file, number) or ""
            hidden = [at for at, (raw, masked) in enumerate(zip(line, shown, strict=False), 1) if raw != masked]
            if any(not _within(at, number, file, named) for at in hidden):
                where = "an argument" if file == ARGUMENTS else f"{file}:{number}:{hidden[0]}"
                raise ManifestError(
                    f"{where} has a secret, and ConfigMaps and images can be read by many: {shown.strip()}",
                    "use a variable, such as `password = ${DB_PASSWORD}`, and say which Secret has it: "
                    "`flow.kubernetes.secrets.DB_PASSWORD = NAME/KEY`",
                )


def _check_references(settings: ObjectValue, kubernetes: KubernetesSettings) -> None:
    """Check that pods have the variables and files that `{ env = NAME }` and `{ file = PATH }` name.

    Raises:
        ManifestError: they do not have one.
    """
    names = {*kubernetes.variables, *kubernetes.secrets}
    directories = [*kubernetes.secret_volumes.values(), *kubernetes.volumes.values()]
    for value in _values(settings):
        if not isinstance(value, ObjectValue) or not is_reference(value):
            continue
        for key, place in ((key, field.text) for key, field in value.fields.items() if isinstance(field, Scalar)):
            if key == "env" and place not in names:
                raise ManifestError(
                    f"a secret is in the variable `{place}`, which pods do not have",
                    f"say which Secret has it: `flow.kubernetes.secrets.{place} = NAME/KEY`",
                )
            if key == "file" and not any(PurePosixPath(place).is_relative_to(directory) for directory in directories):
                raise ManifestError(
                    f"a secret is in the file `{place}`, which pods do not have",
                    "name a directory of its own, and say which Secret is there: "
                    "`flow.kubernetes.secret-volumes.NAME = /DIRECTORY`",
                )


def _within(column: int, line: int, file: str, spans: list[Span]) -> bool:
    return any(
        span.file == file and span.line == line == span.end_line and span.column <= column < span.end_column
        for span in spans
    )


def _values(value: Value) -> Iterator[Value]:
    """Yield a value and all values in it."""
    yield value
    match value:
        case ObjectValue(fields):
            for field in fields.values():
                yield from _values(field)
        case ListValue(items):
            for item in items:
                yield from _values(item)
        case Scalar():
            return
