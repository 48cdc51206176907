"""The kinds of streamlets: what runs their units, Spark or a host of their own in the runner's process.

A package registers a kind by an entry point of the group `streamlets.kinds`: its name is the name of their `Kind`, its
value a `UnitKind`, such as `my_package.poller:PollerKind`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Protocol

from blueprint.catalog import Kind
from blueprint.core_settings import Isolation
from blueprint.plan import ApplicationPlan
from streamlets.plugins import PluginError, Plugins
from streamlets.runner.drivers.launchers import LAUNCHERS
from streamlets.runner.hosts import Host, HostContext, Hosts


class UnitKind(Protocol):
    """What runs a kind of streamlets. If they have queries on Spark, the launcher of the run starts these."""

    def host(self, context: HostContext) -> Host | None:
        """Return the host of the units that its streamlets have without Spark, in the runner's process, or None.

        No unit is started.

        Arguments:
            context: its plan has the streamlets of this kind.
        """


class SparkKind:
    """Streamlets that are queries on Spark, and nothing else."""

    def host(self, context: HostContext) -> None:
        """Return None."""


KINDS = Plugins[UnitKind](
    "streamlets.kinds",
    "kind of streamlets",
    {
        "batch-source": "streamlets.ingress.batch_sources.kind:BatchSourceKind",
        "spark": "streamlets.runner.kinds:SparkKind",
        "spout": "streamlets.ingress.spouts.kind:SpoutKind",
    },
    requires=("host",),
)
"""The available kinds by name."""


def on_spark(plan: ApplicationPlan) -> ApplicationPlan:
    """Return the part of an application that has queries on Spark."""
    return _part(plan, lambda kind: kind.on_spark)


def open_hosts(context: HostContext, isolation: Isolation) -> Hosts:
    """Open the hosts of all streamlets of a plan. Spark is started only if one of them has queries.

    Arguments:
        isolation: the name of the launcher for the streamlets on Spark.

    Raises:
        SessionError: Spark cannot be started.
    """
    hosts: list[Host] = []
    with ExitStack() as opened:

        def add(host: Host | None) -> None:
            if host is not None:
                hosts.append(host)
                opened.callback(host.stop)

        for kind in sorted({streamlet.kind for streamlet in context.plan.streamlets}, key=lambda kind: kind.name):
            add(KINDS[kind.name].host(replace(context, plan=_part(context.plan, kind.__eq__))))
        spark = on_spark(context.plan)
        if spark.streamlets:
            add(LAUNCHERS[isolation](replace(context, plan=spark)))
        opened.pop_all()  # from here on the caller stops them
    return Hosts(hosts, context.refs)


def require_kinds(plan: ApplicationPlan) -> None:
    """Require that the kinds of all streamlets are available.

    Raises:
        PluginError: no installed package registers a kind, or it cannot be used.
    """
    for streamlet in plan.streamlets:
        try:
            KINDS[streamlet.kind.name]
        except KeyError:
            raise PluginError(
                f"`{streamlet.ref}` is of the kind `{streamlet.kind.name}`, which no installed package registers: "
                f"install the package of `{streamlet.class_name}`"
            ) from None


def _part(plan: ApplicationPlan, selected: Callable[[Kind], bool]) -> ApplicationPlan:
    """Return an application with the streamlets of selected kinds."""
    return replace(plan, streamlets=tuple(streamlet for streamlet in plan.streamlets if selected(streamlet.kind)))
