"""Replay of dead letters: letters that now fit their outlet's contract are written to its topic, exactly once.

A letter is a row of an outlet, so a replay writes it through that outlet again. The schema may have been at fault and
now has another symbol or allows a null. A message of an inlet is decoded again, as its schema may be known by now, and
written to the end of its topic. Letters that still break the contract stay, and the reason is reported.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.replays import Replay, runs
from streamlets.contract.values import JsonValues, RecordError
from streamlets.runner.dead_letters.letters import DeadLetter, letters_in
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    import pyarrow as pa

    from blueprint.avro.model import Contract
    from blueprint.plan import OutletPlan
    from streamlets.channels.base import TopicResource

_LETTERS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Outlets:
    """The outlets that letters are replayed to.

    Arguments:
        plans: the application's current outlets, by port (`ref.outlet`).
        topic: returns the topic with a name.
        name: returns the name of the topic that an outlet is joined to.
    """

    plans: Mapping[str, OutletPlan]
    topic: Callable[[str], TopicResource]
    name: Callable[[OutletPlan], str]


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a replay.

    Arguments:
        records: the number of letters written, by port.
        broken: the number of letters that still break the contract, by port and reason.
        homeless: the number of letters of ports that the application does not have, by port.
    """

    records: Mapping[str, int] = field(default_factory=dict)
    broken: Mapping[tuple[str, str], int] = field(default_factory=dict)
    homeless: Mapping[str, int] = field(default_factory=dict)


def replay(
    topic: TopicResource,
    outlets: Outlets,
    wanted: Callable[[DeadLetter], bool],
    *,
    dry: bool = False,
    at_once: int = _LETTERS_AT_ONCE,
) -> Replayed:
    """Replay the waiting letters of a topic.

    Arguments:
        topic: the topic of dead letters.
        outlets: the outlets that they are replayed to.
        wanted: selects the letters.
        dry: only return the result that a replay would have.
        at_once: the number of letters per decision and commit.

    Raises:
        TopicLostError, TopicWriteError: a topic was deleted or cannot be written; another replay continues there.
    """
    decisions = tuple(topic.replays.all())
    known = len(decisions)
    if decisions and not dry:  # a kill may have interrupted the last one
        _repeat(topic, decisions[-1], outlets)
    records: Counter[str] = Counter()
    broken: Counter[tuple[str, str]] = Counter()
    homeless: Counter[str] = Counter()
    fitting: dict[str, list[DeadLetter]] = {}
    for letter in letters_in(topic):
        if letter.replayed or not wanted(letter):
            continue
        plan = outlets.plans.get(letter.port)
        if plan is None:
            homeless[letter.port] += 1
            continue
        try:
            _record(letter, plan.contract, outlets, extra=plan.extra == "drop")
        except RecordError as error:
            broken[letter.port, str(error)] += 1
            continue
        records[letter.port] += 1
        fitting.setdefault(letter.port, []).append(letter)
        if len(fitting[letter.port]) >= at_once and not dry:
            known = _deliver(topic, fitting.pop(letter.port), outlets, known)
    for letters in () if dry else fitting.values():
        known = _deliver(topic, letters, outlets, known)
    return Replayed(records, broken, homeless)


def settle(topic: TopicResource) -> None:
    """Let no earlier decision be repeated, because the topics that it was carried out in are deleted.

    Arguments:
        topic: the topic of dead letters, which is kept.
    """
    decisions = tuple(topic.replays.all())
    if decisions and decisions[-1].letters:
        last = decisions[-1]
        topic.replays.decide(replace(last, number=last.number + 1, letters=()))


def _deliver(topic: TopicResource, letters: list[DeadLetter], outlets: Outlets, known: int) -> int:
    """Decide the replay of letters of one port, and carry it out.

    Decisions are carried out in their order, because a topic does not accept an earlier one after a later one.

    Arguments:
        known: the number of decisions that were known when the letters were read. Letters that another process has
            decided on after that are left to its decision.

    Returns:
        The number of decisions that are known and have been carried out.
    """
    plan = outlets.plans[letters[0].port]
    while True:
        for other in tuple(topic.replays.all())[known:]:
            _repeat(topic, other, outlets)
            letters = [letter for letter in letters if not other.holds(letter.place)]
            known += 1
        if not letters:
            return known
        decision = Replay(
            number=known,
            port=letters[0].port,
            topic=outlets.name(plan),
            contract=plan.contract.json,
            letters=runs(letter.place for letter in letters),
            partition_by=tuple(plan.partition_by),
        )
        _require_new(topic, decision, outlets)
        if topic.replays.decide(decision):
            crash_point("after-replay-decision")
            _carry_out(topic, decision, letters, outlets)
            return known + 1


def _require_new(topic: TopicResource, decision: Replay, outlets: Outlets) -> None:
    """Check that no decision with the number of a new one was carried out: the topic would drop its records.

    Raises:
        DamagedFileError: the file of an earlier decision with this number is missing.
    """
    contract, target = parse_contract(decision.contract), outlets.topic(decision.topic)
    with target.appender(contract, writer=_writer(topic), partition_by=decision.partition_by) as appender:
        if appender.last is not None and appender.last >= decision.number:
            raise topic.replays.missing(decision.number)


def _writer(topic: TopicResource) -> str:
    return f"replay-{topic.replays.topic_id}"


def _repeat(topic: TopicResource, decision: Replay, outlets: Outlets) -> None:
    """Carry out a decision that was made before; without effect if that was done already, or it has no letters."""
    if decision.letters:
        _carry_out(topic, decision, (letter for letter in letters_in(topic) if decision.holds(letter.place)), outlets)


def _carry_out(topic: TopicResource, decision: Replay, letters: Iterable[DeadLetter], outlets: Outlets) -> None:
    contract = parse_contract(decision.contract)
    target = outlets.topic(decision.topic)
    with target.appender(contract, writer=_writer(topic), partition_by=decision.partition_by) as appender:
        appender.append(_batches(letters, contract, outlets), decision.number)


def _batches(letters: Iterable[DeadLetter], contract: Contract, outlets: Outlets) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    from streamlets.contract.types import arrow_schema

    rows = [_record(letter, contract, outlets, extra=True) for letter in letters]
    yield pa.RecordBatch.from_pylist(rows, schema=arrow_schema(contract))


def _record(letter: DeadLetter, contract: Contract, outlets: Outlets, *, extra: bool) -> dict[str, object]:
    """Return the letter's row, or its decoded message, as a record of a contract.

    Arguments:
        extra: drop columns that the contract does not have.

    Raises:
        RecordError: the row breaks the contract, or the message is still not a record.
    """
    if letter.topic:
        topic = outlets.topic(letter.topic)
        if not topic.traits.invalid_records:
            raise RecordError(f"its topic `{letter.topic}` is now on another channel")
        return topic.decoded(letter.record, contract)
    row = json.loads(letter.record, parse_float=Decimal)
    return JsonValues(contract, extra).record(row, contract.record)
