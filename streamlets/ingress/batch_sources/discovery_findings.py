"""Findings about the parameter `discovery` of a batch source."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from blueprint.catalog import ParameterProblem
from blueprint.diagnostics import Diagnostic, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon.values import ObjectValue, Value, key_span_of, span_of
from blueprint.known_keys import KnownKey, KnownValue, type_and_default
from streamlets.ingress.triggerers import Triggerer, TriggererContext, TriggererOption
from streamlets.ingress.triggerers.cron import CronTriggerer, schedule_of
from streamlets.ingress.triggerers.registry import (
    TRIGGERERS,
    TriggererError,
    make_triggerer,
    named_triggerers,
    options_of,
)

_KEYS = ("triggerer", "config")


def discovery_problems(discovery: Mapping[str, Any]) -> Iterator[ParameterProblem]:
    """Yield problems with the parameter, apart from the configuration of the triggerer.

    Arguments:
        discovery: the value of the parameter.
    """
    for key in discovery:
        if key not in _KEYS:
            message = f"`discovery` has no key `{key}`"
            yield ParameterProblem(("discovery", key), message, ("it has `triggerer` and `config`",), "key")
    name, config = discovery.get("triggerer"), discovery.get("config", {})
    if not isinstance(name, str):
        message = "`discovery` has no `triggerer`" if name is None else f"`triggerer` must be a string, found `{name}`"
        help = f"set it to {', '.join(f'`{known}`' for known in TRIGGERERS)} or a class of the project"
        yield ParameterProblem(("discovery", "triggerer"), message, (help,))
        return
    if not isinstance(config, Mapping):
        yield ParameterProblem(("discovery", "config"), f"`config` must be an object, found `{config}`")
        return
    try:
        make_triggerer(name)
    except TriggererError as error:
        yield ParameterProblem(("discovery", "triggerer"), str(error), error.help)


def discovery_keys(discovery: object) -> Iterator[KnownKey]:
    """Yield the keys of the parameter, and the keys of the triggerer that it names.

    Arguments:
        discovery: the value of the parameter, which may have mistakes.
    """
    triggerers = named_triggerers()
    values = (KnownValue(name, doc=_summary(triggerer)) for name, triggerer in triggerers.items())
    doc = "the triggerer: one of Streamlets, or a class of the project as `module.Class`"
    yield KnownKey(path=("discovery", "triggerer"), doc=doc, required=True, values=tuple(values))
    yield KnownKey(path=("discovery", "config"), doc="the configuration of the triggerer")
    named = discovery.get("triggerer") if isinstance(discovery, Mapping) else None
    for option in _options(named, triggerers) if isinstance(named, str) else ():
        yield KnownKey(
            path=("discovery", "config", option.name),
            doc=option.description,
            detail=type_and_default(option.type, option.default),
            required=option.required,
        )


def _summary(triggerer: Triggerer) -> str:
    return " ".join((inspect.getdoc(triggerer) or "").split("\n\n")[0].split())


def _options(name: str, triggerers: Mapping[str, Triggerer]) -> tuple[TriggererOption, ...]:
    with suppress(TriggererError):
        return options_of(triggerers.get(name) or make_triggerer(name))
    return ()


def triggerer_findings(discovery: Mapping[str, Any], written: Value, directory: Path) -> Iterator[Diagnostic]:
    """Yield findings about the configuration of the triggerer, and the next firing time of a cron expression.

    Arguments:
        discovery: the triggerer and its configuration, without problems of `discovery_problems`.
        written: the configured parameter.
        directory: the directory of the blueprint, from which relative paths start, wherever they are set.
    """
    config = discovery.get("config", {})
    triggerer = make_triggerer(discovery["triggerer"])
    check = getattr(triggerer, "problems", None)
    context = TriggererContext(streamlet="", directory=directory.absolute())
    problems = tuple(check(config, context)) if check is not None else ()
    for problem in problems:
        span = _place(written, problem.key, key_itself=problem.about == "key")
        yield finding("discovery-config", problem.message, span, help=problem.help)
    if isinstance(triggerer, CronTriggerer) and not problems:
        schedule = schedule_of(config)
        following = schedule.next(time.time())
        if following is not None:
            shown = datetime.fromtimestamp(following, UTC).astimezone(schedule.zone).isoformat(" ", "seconds")
            headline = f"`{schedule.expression}` fires next at {shown} ({schedule.zone})"
            yield finding("discovery-next", headline, _place(written, "expression"))


def _place(discovery: Value, key: str, *, key_itself: bool = False) -> Span:
    """Return the place of a setting of the triggerer, or of the closest object around it."""
    place: Value = discovery
    for name in ("config", key):
        inner = place.fields.get(name) if isinstance(place, ObjectValue) else None
        if inner is None:
            return span_of(place)
        place = inner
    return key_span_of(place) if key_itself else span_of(place)
