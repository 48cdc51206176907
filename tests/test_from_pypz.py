"""Each row of the tables for users of pypz has tests, and each difference a reason."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "from-pypz.md"

_SUPERVISION = "streamlets/runner/supervision"

ROWS: dict[str, tuple[str, ...]] = {
    "connection of ports": ("diagnostics/ports.md::Fan-out and fan-in", "diagnostics/contracts.md::Another type"),
    "a channel for each connection": ("streamlets/channels/test_exactly_once.py::test_two_outlets_may_share_a_topic",),
    "output port without a connection": (
        "diagnostics/ports.md::A missing topic",
        "diagnostics/topics.md::A topic without consumers",
    ),
    "input port without a connection": ("diagnostics/ports.md::An unconnected inlet",),
    "missing reader or writer class": ("diagnostics/topics.md::A channel that does not exist",),
    "`channelLocation`": ("diagnostics/topics.md::Topics and clusters without servers",),
    "`channelConfig`": (
        "diagnostics/topics.md::A misspelt setting among options of a channel",
        "diagnostics/settings.md::A value of the wrong type",
    ),
    "`metricsEnabled`, `logLevel`": ("streamlets/runner/test_ports.py::test_batches_are_counted_at_each_port",),
    "`sequentialModeEnabled`": (
        f"{_SUPERVISION}/test_opening.py::test_a_sequential_inlet_waits_for_the_end_of_all_producers",
        f"{_SUPERVISION}/test_opening.py::test_a_sequential_inlet_waits_for_a_producer_that_backs_off_or_is_paused",
        "cli/test_fix.py::test_settings_of_ports_with_the_names_of_pypz_are_renamed",
    ),
    "`portOpenTimeoutMs` of an input port": (
        f"{_SUPERVISION}/test_opening.py::test_a_unit_fails_when_its_producers_do_not_open_in_time",
        "cli/test_fix.py::test_settings_of_ports_with_the_names_of_pypz_are_renamed",
    ),
    "`portOpenTimeoutMs` of an output port": (
        f"{_SUPERVISION}/test_outlets.py::test_a_unit_fails_when_a_channel_does_not_accept_records_in_time",
        "streamlets/runner/test_starting.py::test_a_streamlet_waits_for_the_channel_of_its_outlet",
        "cli/test_external_topics.py::test_a_run_waits_until_an_external_topic_exists",
        "cli/test_fix.py::test_settings_of_ports_with_the_names_of_pypz_are_renamed",
    ),
    "`syncConnectionsOpen`": (
        f"{_SUPERVISION}/test_opening.py::test_sync_open_waits_until_every_producer_is_running",
        "cli/test_fix.py::test_settings_of_ports_with_the_names_of_pypz_are_renamed",
    ),
    "who waits for whom": (
        "streamlets/runner/events/test_status.py::test_a_starting_streamlet_waits_for_spark_and_then_for_its_producers",
        f"{_SUPERVISION}/test_opening.py::test_an_open_timeout_waits_for_one_producer",
    ),
    "`can_retrieve()`, result `None` of `_on_running`": (
        f"{_SUPERVISION}/test_ends.py::test_a_finite_pipeline_ends_by_itself",
        "streamlets/runner/test_finite_run.py::test_a_finite_pipeline_ends_by_itself",
    ),
    "result `True` of `_on_running`": ("diagnostics/openings.md::A pipeline that ends by itself",),
    "reader waits for a writer in *Error*": (
        f"{_SUPERVISION}/test_ends.py::test_a_failed_producer_is_no_end",
        f"{_SUPERVISION}/test_opening.py::test_a_run_ends_when_all_that_is_left_waits_for_what_has_failed",
    ),
    "`retrieve()`, `send()`": (
        "streamlets/channels/test_exactly_once.py::test_broken_rows_fail_the_query_without_dead_letters",
    ),
    "`commit_current_read_offset()`": (
        "streamlets/channels/test_exactly_once.py::test_a_replayed_batch_changes_nothing",
    ),
    "`group_mode`": ("streamlets/channels/test_parts.py::test_parts_have_all_records_once_and_evenly",),
    "offsets, `NotInitialized`": (
        "cli/test_checkpoints.py::test_a_checkpoint_is_shown_with_all_details",
        "streamlets/runner/test_observer.py::test_the_backlog_of_an_inlet_that_starts_with_the_latest_records",
    ),
    "acknowledgements": (
        "streamlets/channels/test_retention.py::test_records_that_a_reader_has_not_committed_are_kept",
        "streamlets/runner/test_ports.py::test_the_readers_of_a_topic_have_positions",
    ),
    "silent mode": ("cli/test_topics_and_tail.py::test_tail_shows_the_last_records_in_order",),
    "channels of your own": (
        "streamlets/testkit/test_channel_suite.py::test_a_suite_has_the_tests_that_fit_its_channel",
        "examples/channels/test_kills.py::test_a_killed_append_is_repeated_once",
    ),
    "states of ports": ("streamlets/runner/test_ports.py::test_a_port_has_the_state_of_its_streamlet",),
    "control signals between ports": (
        f"{_SUPERVISION}/test_supervisor.py::test_facts_of_an_earlier_run_are_ignored",
        f"{_SUPERVISION}/test_interleavings.py::test_random_applications_start_in_order_and_end",
    ),
    "health checks, patience": (
        "cli/test_health.py::test_a_streamlet_is_judged",
        "cli/test_health.py::test_processes_that_are_killed_are_lost",
    ),
    "heartbeats that stop after 60 seconds of errors": (
        "cli/test_health.py::test_a_run_that_writes_no_status_is_lost",
    ),
    "metrics of ports": ("streamlets/runner/test_ports.py::test_batches_are_counted_at_each_port",),
    "`replicationFactor`": (
        "diagnostics/replicas.md::A number of replicas",
        "diagnostics/replicas.md::A negative number",
        "streamlets/runner/units/test_replicas.py::test_inlets_are_read_by_the_replicas_of_their_streamlet",
    ),
    "names and parameters of replicas": (
        "streamlets/channels/test_parts.py::test_parts_have_all_records_once_and_evenly",
    ),
    "growing and shrinking": (
        f"{_SUPERVISION}/test_steering.py::test_a_scaled_streamlet_starts_with_its_new_number",
        "cli/test_steering.py::test_scale_restarts_a_streamlet_with_a_number_for_the_run",
    ),
    "a partition for each replica, round-robin": (
        "streamlets/channels/test_parts.py::test_parts_have_all_records_once_and_evenly",
    ),
    "shrinking deletes the Kafka topic": (
        "streamlets/channels/kafka/test_comparison.py::test_partitions_can_be_added",
        "blueprint/comparison/test_classes.py::test_every_setting_has_a_class_or_a_reason",
    ),
    "only the principal creates and deletes": ("cli/test_resources.py::test_only_the_owner_creates_and_deletes",),
    "resources are kept after an error": ("cli/test_resources.py::test_another_end_deletes_nothing",),
    "execution modes for resources": (
        "cli/test_resources.py::test_a_clean_end_deletes_what_the_application_manages",
        "cli/test_resources.py::test_create_only_creates_and_exits",
        "cli/test_resources.py::test_delete_only_asks",
        "cli/test_resources.py::test_skip_requires_the_topics",
    ),
    "interrupt deletes resources": (
        "cli/test_resources.py::test_another_end_deletes_nothing",
        "cli/test_resources.py::test_delete_only_asks",
    ),
    "one channel's error does not stop the others": (
        "cli/test_resources.py::test_a_topic_that_cannot_be_deleted_does_not_stop_the_others",
        "cli/test_resources.py::test_servers_that_do_not_answer_do_not_stop_other_channels",
    ),
    "exit codes 110 to 130": ("cli/test_exit_codes.py::test_the_tables_and_the_tests_have_the_same_codes",),
    "`_on_init`, `_on_shutdown`": (
        "streamlets/runner/units/test_hooks.py::test_hooks_are_called_once_for_all_queries_of_a_streamlet",
        f"{_SUPERVISION}/test_supervisor.py::test_the_status_says_which_hook_failed",
    ),
    "required and optional parameters": (
        "diagnostics/parameters.md::A parameter without a value",
        "diagnostics/parameters.md::A value of the wrong type",
    ),
    "`#` and `>`, values for a level and below": (
        "cli/test_config.py::test_every_layer_of_a_setting_is_shown_with_its_place",
    ),
    "`${env:X}`, `$(env:X)`": (
        "streamlets/ingress/test_secret_source.py::test_a_context_reads_secrets",
        "blueprint/hocon/test_specification.py::test_the_environment_comes_last_and_gives_strings",
    ),
    "circular pipelines": (
        "diagnostics/topics.md::An allowed cycle",
        "diagnostics/openings.md::A sequential inlet in a cycle",
        f"{_SUPERVISION}/test_cycles.py::test_a_cycle_runs_until_nothing_has_come_back",
    ),
    "32 operators in one process": (
        "streamlets/runner/test_isolation.py::test_a_crash_in_one_driver_leaves_the_other_running",
    ),
}
"""The tests of each row, below `tests`: a function of a module, or a heading of a specification."""

NAMES = (
    "channelLocation",
    "channelConfig",
    "metricsEnabled",
    "logLevel",
    "sequentialModeEnabled",
    "portOpenTimeoutMs",
    "syncConnectionsOpen",
    "can_retrieve",
    "retrieve",
    "send",
    "commit_current_read_offset",
    "_on_running",
    "_on_init",
    "_on_shutdown",
    "group_mode",
    "NotInitialized",
    "replicationFactor",
    "Standard",
    "WithoutResourceDeletion",
    "ResourceCreationOnly",
    "ResourceDeletionOnly",
    "Skip",
    "receivedRecordCount",
    "sentRecordCount",
    "elapsedTimeSinceLastReadCycleMs",
    "averageTimePerReadCycleMs",
    "averageTimePerReadRecordMs",
    "averageRecordPerReadCycle",
    "Acknowledged",
    "Opened",
    "Started",
    "Stopped",
    "Closed",
    "Error",
)
"""What a user of pypz looks for."""


@cache
def _rows() -> dict[str, tuple[str, str]]:
    """Return the verdict and the explanation of each row of the tables of features."""
    text = PAGE.read_text(encoding="utf-8").split("## Features")[1].split("## Moving settings")[0]
    cells = [re.split(r" \| ", line.strip("| ")) for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: (row[1], row[2]) for row in cells if len(row) == 3 and row[0] not in ("pypz", "---")}


def test_every_row_has_tests() -> None:
    """A new row names its tests here, and a row that was removed is removed here, too."""
    assert set(_rows()) == set(ROWS)
    assert all(ROWS.values())


@pytest.mark.parametrize("row", ROWS)
def test_the_tests_of_a_row_exist(row: str) -> None:
    """A test that was renamed is renamed here."""
    for path, _, name in (test.partition("::") for test in ROWS[row]):
        text = (REPOSITORY / "tests" / path).read_text(encoding="utf-8")
        definition = rf"^## {re.escape(name)}$" if path.endswith(".md") else rf"^\s*def {name}\("
        assert re.search(definition, text, re.MULTILINE), (path, name)


def test_every_row_works_or_has_a_reason() -> None:
    """Nothing is promised for later."""
    for row, (verdict, explanation) in _rows().items():
        assert verdict in ("works", "works, new", "differs"), row
        assert len(explanation.split()) > 4, row


@pytest.mark.parametrize("name", NAMES)
def test_the_names_of_pypz_are_explained(name: str) -> None:
    """Parameters, methods, signals and metrics are on this page or on the one about ports."""
    text = PAGE.read_text(encoding="utf-8") + (PAGE.parent / "ports.md").read_text(encoding="utf-8")
    assert re.search(rf"\b{name}\b", text)
