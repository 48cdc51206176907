"""All rules, in the order in which they are asked; findings are sorted afterwards."""

from __future__ import annotations

from blueprint.rules import contracts, cycles, migration, mounts, names, parameters, ports, streamlets, topics
from blueprint.rules.draft import Rule

RULES: tuple[Rule, ...] = (
    migration.connections,
    names.streamlet_names,
    names.class_paths,
    names.port_names,
    names.shared_port_names,
    names.topic_names,
    names.topic_name_clashes,
    streamlets.load_failures,
    streamlets.catalog_findings,
    streamlets.unreachable_streamlets,
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
    topics.contradicting_settings,
    cycles.cycles,
    contracts.contracts,
    contracts.partition_columns,
    parameters.parameter_declarations,
    parameters.parameter_values,
    parameters.unknown_parameters,
    parameters.missing_parameters,
    mounts.mount_declarations,
    mounts.mount_folders,
    mounts.missing_mounts,
)
