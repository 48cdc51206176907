"""All rules, in the order in which they are applied; findings are sorted afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from blueprint.diagnostics import Diagnostic
from blueprint.model.draft import Draft
from blueprint.verification.rules import (
    connections,
    contracts,
    cycles,
    directories,
    mounts,
    names,
    parameters,
    ports,
    settings,
    streamlets,
    tcp_ports,
    topics,
    transactions,
)

Rule = Callable[[Draft], Iterable[Diagnostic]]
"""A rule returns what is wrong with a draft; it never raises for a user's mistake."""

RULES: tuple[Rule, ...] = (
    connections.connections,
    names.streamlet_names,
    names.class_paths,
    names.port_names,
    names.shared_port_names,
    names.topic_names,
    names.topic_name_clashes,
    names.dead_letter_topics,
    names.cluster_names,
    names.application_names,
    names.job_names,
    streamlets.load_failures,
    streamlets.catalog_findings,
    streamlets.unused_classes,
    ports.malformed_paths,
    ports.unknown_streamlets,
    ports.unknown_ports,
    ports.wrong_directions,
    ports.ports_listed_twice,
    ports.ports_bound_twice,
    ports.unconnected_ports,
    topics.topics_without_producers,
    topics.topics_without_consumers,
    topics.unused_topics,
    topics.unknown_channels,
    topics.settings_of_unmanaged_topics,
    topics.misspelt_topic_settings,
    topics.two_clusters,
    topics.dead_letters_on_another_channel,
    topics.problems_of_channels,
    topics.problems_of_inlets,
    topics.requirements_of_channels,
    transactions.split_transactions,
    cycles.cycles,
    cycles.unknown_stops,
    cycles.needless_stops,
    cycles.unfed_cycles,
    contracts.contracts,
    contracts.partition_columns,
    parameters.parameter_declarations,
    parameters.parameter_values,
    parameters.parameter_problems,
    parameters.unknown_parameters,
    parameters.missing_parameters,
    directories.shared_directories,
    directories.shared_checkpoints,
    tcp_ports.shared_tcp_ports,
    mounts.mount_declarations,
    mounts.mount_directories,
    mounts.missing_mounts,
    settings.settings,
    settings.owners_of_settings,
    settings.retry_names,
    settings.retry_contradictions,
    settings.real_time_channels,
)
