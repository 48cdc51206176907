"""The results of a backfill: files in a directory, or a new topic of the application."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.avro.model import Contract
from blueprint.plan import ApplicationPlan, TopicPlan
from blueprint.verification.rules.names import topic_name_fault
from streamlets.backfills.model import Backfill, BackfillError, Result
from streamlets.channels.base import Position, TopicResource
from streamlets.channels.copying import copy_topic
from streamlets.channels.registry import CHANNEL_TYPES, DEFAULT
from streamlets.datasets.export import export
from streamlets.datasets.formats import FORMATS
from streamlets.datasets.topic_records import TopicRecords
from streamlets.runner.state_directory.directory import StateDirectory

FORMAT = FORMATS["parquet"]
"""The format of the files with results."""


def file_of(directory: Path, topic: str) -> Path:
    """Return the file with the results in a topic."""
    return directory / f"{topic.replace('/', '-')}{FORMAT.suffix}"


def new_topic(state: StateDirectory, name: str) -> TopicResource:
    """Return a topic of the application that a backfill creates.

    Raises:
        BackfillError: the name is not possible.
    """
    if fault := topic_name_fault(name):
        raise BackfillError(f"invalid topic name `{name}`: it {fault}")
    plan = TopicPlan(name, name, DEFAULT, True, (), (), {})
    try:
        return CHANNEL_TYPES[DEFAULT].open(state.topics).topic(plan)
    except ValueError as error:
        raise BackfillError(str(error)) from None


def hand_over(
    state: StateDirectory, plan: ApplicationPlan, topics: Mapping[str, TopicResource],
    backfill: Backfill,
) -> dict[str, Result]:  # fmt: skip
    """Write the results where they were asked for, and return them with their numbers.

    A repeated call has the same effect.

    Arguments:
        state: the state directory of the application.
        plan: the plan of the backfill.
        topics: its topics by id.
        backfill: the backfill, whose range has been read.
    """
    results, request = {}, backfill.request
    for id, result in backfill.results.items():
        topic = topics[id]
        after = Position(result.after) if result.after is not None else None
        end = topic.end()
        topic.limit(after, end)
        records = topic.count(None, end)
        if request.into and (records or id != plan.streamlets[0].dead_letters):
            Path(request.into).mkdir(parents=True, exist_ok=True)
            contract = contract_of(plan, id)
            export(
                file_of(Path(request.into), id),
                TopicRecords(topic=topic, contract=contract, end=end),
                FORMAT,
                overwrite=True,
            )
        if request.topic and id != plan.streamlets[0].dead_letters:
            target = new_topic(state, request.topic)
            target.create(())
            copy_topic(topic, target, contract=None, partition_by=lambda contract: ())
        results[id] = replace(result, records=records)
    return results


def contract_of(plan: ApplicationPlan, topic: str) -> Contract:
    """Return the contract of the records that the streamlet of a plan writes to a topic."""
    outlets = plan.streamlets[0].outlets
    return next((outlet.contract for outlet in outlets if outlet.topic == topic), None) or dead_letter_contract()
