"""The groups of streamlets that share a driver process, each as a part of the plan; pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from blueprint.plan import ApplicationPlan, StreamletPlan
from streamlets.spark.session import SessionError

# Settings with this prefix can be set for a session of Spark; all others apply to the whole process.
_SESSION_PREFIX = "spark.sql."


@dataclass(frozen=True, slots=True)
class DriverPlan:
    """A driver process: its name and its part of the application.

    Arguments:
        plan: the application with the streamlets of this driver, whose process-wide settings are the plan's.
    """

    name: str
    plan: ApplicationPlan


def driver_plans(plan: ApplicationPlan) -> tuple[DriverPlan, ...]:
    """Return the drivers of an application: one for each group of streamlets.

    Without a setting, the group of a streamlet has its name, so that others can join it.

    Raises:
        SessionError: streamlets of a group have different values for a process-wide setting.
    """
    groups: dict[str, list[StreamletPlan]] = {}
    for streamlet in plan.streamlets:
        groups.setdefault(streamlet.settings.group or streamlet.ref, []).append(streamlet)
    return tuple(DriverPlan(name, _driver_plan(plan, name, members)) for name, members in groups.items())


def _driver_plan(plan: ApplicationPlan, name: str, members: list[StreamletPlan]) -> ApplicationPlan:
    streamlets = tuple(
        replace(member, settings=replace(member.settings, spark=session_settings(member.settings.spark)))
        for member in members
    )
    spark = {**plan.settings.spark, **_process_settings(name, members)}
    return replace(plan, streamlets=streamlets, settings=replace(plan.settings, spark=spark))


def session_settings(spark: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a streamlet that are set for its session; its driver gets the others."""
    return {key: value for key, value in spark.items() if not _is_process_setting(key)}


def _is_process_setting(key: str) -> bool:
    return key.startswith("spark.") and not key.startswith(_SESSION_PREFIX)


def _process_settings(name: str, streamlets: list[StreamletPlan]) -> Mapping[str, str]:
    settings: dict[str, tuple[str, str]] = {}
    for streamlet in streamlets:
        for key, value in streamlet.settings.spark.items():
            if not _is_process_setting(key):
                continue
            first, ref = settings.setdefault(key, (value, streamlet.ref))
            if first != value:
                raise SessionError(
                    f"the streamlets `{ref}` and `{streamlet.ref}` share the driver `{name}`, but set `{key}` to "
                    f"{first} and {value}",
                    "use the same value for both, set it in `flow.runtimes.spark`, or put them into different groups "
                    f"with `flow.streamlets.{streamlet.ref}.group`",
                    setting=key,
                )
    return {key: value for key, (value, _) in settings.items()}
