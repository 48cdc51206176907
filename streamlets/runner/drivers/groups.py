"""Which streamlets share a driver process, and what each driver is to know: a part of the plan. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from blueprint.plan import ApplicationPlan, StreamletPlan
from streamlets.spark.session import SessionError

# What can be set for a session of Spark; all else is set for the whole process as it starts.
_OF_A_SESSION = "spark.sql."


@dataclass(frozen=True, slots=True)
class DriverPlan:
    """A driver process: its name, and the application as far as it concerns it.

    Arguments:
        plan: with its own streamlets only; their settings of the whole process are among the application's.
    """

    name: str
    plan: ApplicationPlan


def driver_plans(plan: ApplicationPlan) -> tuple[DriverPlan, ...]:
    """The drivers of an application: one for each group, and one for each streamlet that names none. A streamlet's
    group is called as itself unless it says otherwise, so others may join it by its name.

    Raises:
        SessionError: streamlets of a group want different values of a setting of the whole process.
    """
    groups: dict[str, list[StreamletPlan]] = {}
    for streamlet in plan.streamlets:
        groups.setdefault(streamlet.group or streamlet.ref, []).append(streamlet)
    return tuple(
        DriverPlan(name, replace(
            plan,
            streamlets=tuple(replace(each, spark=session_settings(each.spark)) for each in those),
            spark={**plan.spark, **_of_process(name, those)},
        ))
        for name, those in groups.items()
    )  # fmt: skip


def session_settings(spark: Mapping[str, str]) -> dict[str, str]:
    """Of a streamlet's Spark settings those that its session gets when its driver gets the others."""
    return {key: value for key, value in spark.items() if not _is_of_process(key)}


def _is_of_process(key: str) -> bool:
    return key.startswith("spark.") and not key.startswith(_OF_A_SESSION)


def _of_process(name: str, streamlets: list[StreamletPlan]) -> Mapping[str, str]:
    found: dict[str, tuple[str, str]] = {}
    for streamlet in streamlets:
        for key, value in streamlet.spark.items():
            if not _is_of_process(key):
                continue
            said, by = found.setdefault(key, (value, streamlet.ref))
            if said != value:
                raise SessionError(
                    f"the streamlets `{by}` and `{streamlet.ref}` share the driver `{name}` and set `{key}` to "
                    f"{said} and {value}",
                    "give both the same value, set it in `flow.runtimes.spark`, or part them: "
                    f"`flow.streamlets.{streamlet.ref}.group`",
                    setting=key,
                )
    return {key: value for key, (value, _) in found.items()}
