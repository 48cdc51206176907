"""The secrets of a configuration, a plan and an environment: where each of them has some."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value
from blueprint.settings.secret_texts import (
    INSIDE_WORDS,
    VARIABLE,
    is_secret,
    option_secrets,
    path_of,
    secret_variables,
    secrets_with_variables,
)
from blueprint.settings.secrets import Secret, Secrets, is_reference, named_below, words_of

if TYPE_CHECKING:
    from blueprint.plan import ApplicationPlan, StreamletPlan
    from blueprint.setting import SettingNode


_ONLY_REFERENCES = "flow.kubernetes"
"""A section with the names of Secrets, not with their values."""

_DIRECTORIES = ("PWD", "OLDPWD")
"""Variables of the shell, whose names resemble names of passwords."""


class ReadVariables(Mapping[str, str]):
    """Environment variables that remember which of them were read.

    Arguments:
        variables: all of them.

    Attributes:
        names: of those that were read.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        value = self._variables[name]
        self.names.add(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def secrets(self) -> Iterator[str]:
        """Yield the values of those variables that were read and have the name of a secret."""
        yield from (self._variables[name] for name in self.names if _is_secret_variable(name))


def environment_secrets(variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of environment variables that have the name of a secret, and are not ordinary words.

    Code of authors reads variables that no setting names.
    """
    for name, value in variables.items():
        is_path = name.lower().endswith("credentials") and value.startswith("/")
        if _is_secret_variable(name) and not is_path and len(value) >= INSIDE_WORDS:
            yield value


def _is_secret_variable(name: str) -> bool:
    return name not in _DIRECTORIES and is_secret(name)


def secrets_in(tree: ObjectValue, flow: ObjectValue, known: SettingNode, more: Iterable[str] = ()) -> Secrets:
    """Return the secrets of a resolved configuration.

    Arguments:
        tree: the whole tree.
        flow: its settings: the `flow` section over the blocks of the blueprint.
        known: the settings that the application may have; those that are defined as secrets are secrets.
        more: further secrets, from variables that it uses.
    """
    texts = list(_texts(tree))
    variables = {path for text in texts for path in secret_variables(text)}
    used = _below_paths(tree, variables) if variables else ()
    scalars = [*_secret_scalars(tree), *_defined_secrets(flow, known), *used]
    values = [scalar.value for scalar in scalars if isinstance(scalar.value, str)]
    values += [secret for text in texts for secret in option_secrets(text)]
    return Secrets([*values, *more], [origin.span for scalar in scalars for origin in scalar.origins])


def _below_paths(value: Value, paths: set[tuple[str, ...]], path: tuple[str, ...] = ()) -> Iterator[Scalar]:
    """Yield the single values whose path ends with one of some paths: a variable of a job, and where it comes from."""
    match value:
        case Scalar():
            if any(path[-len(wanted) :] == wanted for wanted in paths):
                yield value
        case ObjectValue(inner):
            for key, field in inner.items():
                yield from _below_paths(field, paths, (*path, key))


def secrets_of(plan: ApplicationPlan) -> Secrets:
    """Return the secrets of an application's plan."""
    groups = [
        plan.settings.spark,
        *(settings for streamlet in plan.streamlets for settings in (streamlet.parameters, streamlet.settings.spark)),
        *(options for topic in plan.topics for options in (topic.options, topic.channel_options)),
        *(inlet.options for streamlet in plan.streamlets for inlet in streamlet.inlets),
        *(outlet.options for streamlet in plan.streamlets for outlet in streamlet.outlets),
    ]
    configured = (text for streamlet in plan.streamlets for text in streamlet.secrets)
    return Secrets([*configured, *(text for group in groups for text in secrets_of_values(group))])


def secrets_of_process(plan: ApplicationPlan, environment: Mapping[str, str]) -> Secrets:
    """Return the secrets of an application's plan and of the environment of a process that runs it."""
    secrets = secrets_of(plan)
    secrets.add(environment_secrets(environment))
    place = plan.settings.cluster.secret
    if place.env and place.env in environment:
        secrets.add((environment[place.env],))
    if place.file:
        secrets.follow(Path(plan.directory) / place.file)
    return secrets


def secrets_of_values(values: Mapping[str, object]) -> Iterator[str]:
    """Yield the secrets in settings or config parameters by key, and the values of variables that secrets use."""
    for key, value in values.items():
        yield from _secret_texts(key, value)
    texts = [value for value in values.values() if isinstance(value, str)]
    for secret in {secret for text in texts for secret in secrets_with_variables(text)}:
        used = {variable: _variable(values, path_of(variable)) for variable in re.findall(VARIABLE, secret)}
        yield from used.values()
        yield _composed(secret, used)


def _composed(text: str, used: Mapping[str, str]) -> str:
    """Return a text with the values of its variables."""
    return re.sub(VARIABLE, lambda match: used[match[1]], text)


def _variable(values: Mapping[str, object], path: Sequence[str]) -> str:
    """Return the value of a variable of a job; "" if it is not a single one."""
    found: object = values.get("variables")
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return "" if found is None or isinstance(found, Mapping) else str(found)


def streamlet_secrets(plan: StreamletPlan) -> Secrets:
    """Return the secrets that a streamlet knows: the secrets of its parameters, and of the configuration."""
    return Secrets([*plan.secrets, *secrets_of_values(plan.parameters)])


def _secret_scalars(value: Value, name: str = "", above: str = "", *, inside: bool = False) -> Iterator[Scalar]:
    """Yield all single values at and below secret paths.

    Arguments:
        value: of a setting.
        name: of the setting, without the names that the user chooses.
        above: the last key of its path.
        inside: whether the setting is below a secret.
    """
    if (isinstance(value, ObjectValue) and is_reference(value)) or name == _ONLY_REFERENCES:
        return
    secret = inside or (bool(name) and is_secret(name))
    match value:
        case Scalar():
            if secret:
                yield value
        case ListValue(items):
            for item, after in words_of(items):
                yield from _secret_scalars(item, name, above, inside=secret or after)
        case ObjectValue(inner):
            for key, field in inner.items():
                yield from _secret_scalars(field, named_below(name, above, key), key, inside=secret)


def _texts(value: Value) -> Iterator[str]:
    """Yield all strings at and below a setting."""
    match value:
        case Scalar():
            if isinstance(value.value, str):
                yield value.value
        case ListValue(items):
            for item in items:
                yield from _texts(item)
        case ObjectValue(inner):
            for field in inner.values():
                yield from _texts(field)


def _defined_secrets(value: Value, node: SettingNode | None) -> Iterator[Scalar]:
    if node is None:
        return
    if node.setting is not None and node.setting.secret:
        yield from _secret_scalars(value, inside=True)
    elif isinstance(value, ObjectValue):
        for key, field in value.fields.items():
            yield from _defined_secrets(field, node.inner(key))


def _secret_texts(key: str, value: object, *, inside: bool = False) -> Iterator[str]:
    if is_reference(value):
        return
    secret = inside or is_secret(key)
    match value:
        case str():
            if secret or isinstance(value, Secret):
                yield str(value)
            else:
                yield from option_secrets(value)
        case Mapping():
            for inner, field in value.items():
                yield from _secret_texts(str(inner), field, inside=secret)
        case list() | tuple():
            for item, after in words_of(value):
                yield from _secret_texts(key, item, inside=secret or after)
