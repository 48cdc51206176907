"""A topic: its contracts, readers, size, and last records. Dead letters, which are topics, too."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.output.quantities import plain
from cli.state import having_name, topics_of
from cli.ui.answers.contract_differences import differences
from streamlets.channels.base import METADATA, ChannelUnavailableError, TopicLostError
from streamlets.runner.checkpoints.checkpoint import checkpoints_in
from streamlets.runner.checkpoints.readers import readers_of
from streamlets.runner.dead_letters.letters import DeadLetter, holds_dead_letters, letters_in, tallies
from streamlets.runner.deployment import described, schema_of
from streamlets.runner.state_directory.directory import StateDirectory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from blueprint.avro.model import Contract
    from cli.ui.served import Served
    from streamlets.channels.base import Reader, TopicResource

MOST_RECORDS = 200
"""The records that are shown at once."""

_REREAD = 10.0
"""Seconds after which the topics of an application are found again."""

_SEARCHED = 5_000
"""The last records in which a text is searched."""


def topics(served: Served) -> list[dict[str, Any]]:
    """Return all topics of an application with their size; one that cannot be read has an error instead."""
    unavailable: dict[str, str] = {}
    summaries = []
    for resource in resources(served):
        channel = resource.plan.channel
        # After the first topic, each further question to such a channel would wait for its servers, too.
        known = _unavailable(resource, unavailable[channel]) if channel in unavailable else _summary(resource)
        if "unavailable" in known:
            unavailable[channel] = known["unavailable"]
        summaries.append(known)
    return summaries


def topic(served: Served, name: str) -> dict[str, Any] | None:
    """Return a topic with its contracts and readers; None if there is none with this id, or name on its channel."""
    resource = _find(served, name)
    if resource is None:
        return None
    summary = _summary(resource)
    if "unavailable" in summary:
        return summary | {"contracts": _declared(served, resource), "readers": [], "damage": [], "settings": {}}
    checkpoints = checkpoints_in(served.state.checkpoints)
    readers = readers_of(resource, checkpoints, ())
    declared = described(served.state)
    settings = declared.topics[resource.plan.id].settings if declared and resource.plan.id in declared.topics else {}
    return summary | {
        "settings": {name: str(value) for name, value in settings.items() if value is not None},
        "contracts": _declared(served, resource, resource),
        "readers": [_reader(resource, reader) for reader in readers],
        "damage": [f"{each.name}: {text}" for each in checkpoints for text in each.damage],
    }


def resources(served: Served) -> tuple[TopicResource, ...]:
    """Return the topics of an application. For topics on servers, its blueprint is read again only once in a while."""
    try:
        described_at = served.state.descriptor_file.stat().st_mtime_ns
    except OSError:
        described_at = 0
    return _read_topics(served.state, served.project, described_at, int(time.monotonic() / _REREAD))


@lru_cache(maxsize=64)
def _read_topics(state: StateDirectory, project: Path | None, *_: int) -> tuple[TopicResource, ...]:
    return topics_of(state, project)


def _find(served: Served, name: str) -> TopicResource | None:
    """Return the topic with an id, or else with a name on its channel; None without one."""
    known = resources(served)
    by_id = [each for each in known if each.plan.id == name]
    return next(iter(by_id or having_name(name, known)), None)


KEY = "_key"
"""The field of a search for the key of messages, which is not a field of their records."""


def records(served: Served, name: str, *, count: int, containing: str = "", field: str = "") -> dict[str, Any] | None:
    """Return the last records of a topic, newest first; None if there is no such topic.

    Arguments:
        name: the id of the topic, or its name on its channel.
        count: the largest number of records.
        containing: only records whose JSON text has this text, among the last ones.
        field: compare this field of the records with the text instead, with the names of outer fields, as in
            `address.city`; `_key` for the key of messages.

    Raises:
        ChannelUnavailableError, TopicLostError, ValueError: the topic cannot be read.
    """
    resource = _find(served, name)
    if resource is None:
        return None
    invalid: list[str] = []
    shown = resource.shown_with(schema_of(served.state, resource.plan.id), invalid.append)
    looked = _SEARCHED if containing else count
    last = [row for batch in shown.last(looked, metadata=True) for row in batch.to_pylist()]
    rows = [(_key(row.pop(METADATA)), json.loads(json.dumps(row, default=plain))) for row in last]
    fitting = [
        row if key is None else {KEY: key, **row}
        for key, row in rows
        if not containing or _fits(row, key, containing, field)
    ]
    return {
        "searched": len(rows), "matching": len(fitting), "records": fitting[::-1][:count], "invalid": invalid[:20],
        "keys": any(key is not None for key, _ in rows),
    }  # fmt: skip


def _key(metadata: Mapping[str, Any]) -> str | None:
    """Return the key of a message as text, or as Base64 if it is not text; None without one."""
    key: bytes | None = metadata["key"]
    try:
        return key.decode() if key is not None else None
    except UnicodeDecodeError:
        return str(plain(key))


def _fits(row: dict[str, Any], key: str | None, text: str, field: str) -> bool:
    """Return whether a record is one of those that are searched for; see `records`."""
    if not field:
        return text.casefold() in json.dumps(row, ensure_ascii=False).casefold()
    value: object = key if field == KEY else row
    for name in field.split(".") if field != KEY else ():
        value = value.get(name) if isinstance(value, dict) else None
    return value is not None and text == (value if isinstance(value, str) else json.dumps(value))


def letters(served: Served, *, port: str = "", reason: str = "", count: int = 50) -> dict[str, Any]:
    """Return the dead letters of an application: counts by port and reason, and the last records.

    Arguments:
        port: only records of this port (`streamlet.port`); "" for all.
        reason: only records with this reason; "" for all.
        count: the largest number of records.
    """
    found = list(_letters(served))
    chosen = [letter for letter in found if port in ("", letter.port) and reason in ("", letter.reason)]
    return {
        "counts": [
            {
                "port": tally.port, "streamlet": tally.streamlet, "reason": tally.reason, "waiting": tally.waiting,
                "replayed": tally.replayed, "first": tally.first.timestamp(), "last": tally.last.timestamp(),
            }
            for tally in tallies(found)
        ],
        "letters": [_letter(letter) for letter in chosen[::-1][:count]],
    }  # fmt: skip


def _letters(served: Served) -> Iterator[DeadLetter]:
    for resource in resources(served):
        with suppress(TopicLostError):
            if holds_dead_letters(resource):
                yield from letters_in(resource)


def _letter(letter: DeadLetter) -> dict[str, Any]:
    return {
        "port": letter.port, "origin": letter.origin, "reason": letter.reason, "time": letter.time.timestamp(),
        "replayed": letter.replayed, "version": letter.version, "record": json.loads(letter.record),
    }  # fmt: skip


def _named(resource: TopicResource) -> dict[str, Any]:
    return {"id": resource.plan.id, "name": resource.plan.name, "channel": resource.plan.channel}


def _unavailable(resource: TopicResource, cause: str) -> dict[str, Any]:
    return _named(resource) | {"error": cause, "unavailable": cause}


def _summary(resource: TopicResource) -> dict[str, Any]:
    """Return the size and the writers of a topic, or why they are not known."""
    try:
        summary = resource.summary()
        dead = holds_dead_letters(resource)
    except ChannelUnavailableError as error:
        return _unavailable(resource, str(error))
    except (TopicLostError, OSError, ValueError) as error:
        return _named(resource) | {"error": str(error)}
    return _named(resource) | {
        "records": summary.records,
        "bytes": summary.bytes,
        "files": summary.files,
        "last_commit": summary.last_commit,
        "dead_letters": dead,
        "writers": [
            {
                "record": writer.record, "fingerprint": writer.fingerprint, "queries": list(writer.queries),
                "records": writer.records, "bytes": writer.bytes, "commits": writer.commits,
            }
            for writer in summary.writers
        ],
    }  # fmt: skip


def _declared(served: Served, resource: TopicResource, stored: TopicResource | None = None) -> list[dict[str, Any]]:
    """Return the schemas of a topic: each once, with who writes and who reads with it.

    Arguments:
        served: the application.
        resource: the topic.
        stored: the topic if it is asked for the schemas of its records, too.
    """
    found: dict[str, tuple[Contract, list[str], list[str]]] = {}
    application = described(served.state)
    if application is not None:
        for (ref, port), outlet in application.outlets_of(resource.plan.id).items():
            found.setdefault(outlet.contract.fingerprint, (outlet.contract, [], []))[1].append(f"{ref}.{port}")
        for (ref, port), inlet in application.inlets_of(resource.plan.id).items():
            found.setdefault(inlet.contract.fingerprint, (inlet.contract, [], []))[2].append(f"{ref}.{port}")
    with suppress(ChannelUnavailableError, TopicLostError, OSError):
        for contract in stored.contracts() if stored is not None else ():
            found.setdefault(contract.fingerprint, (contract, [], []))
    return [
        {
            "record": contract.record.name, "fingerprint": fingerprint, "writers": writers, "readers": readers,
            "schema": json.loads(contract.json), "differences": _differences(contract, readers, found.values()),
        }
        for fingerprint, (contract, writers, readers) in found.items()
    ]  # fmt: skip


def _differences(
    contract: Contract, readers: list[str], others: Iterable[tuple[Contract, list[str], list[str]]]
) -> list[dict[str, Any]]:
    """Return the differences between a contract and the contracts of the records that are read with it.

    Arguments:
        contract: the contract.
        readers: who reads with it.
        others: the contracts of the topic, each with who writes and who reads with it.
    """
    if not readers:
        return []
    return [
        {"writers": writers, "record": written.record.name, "fingerprint": written.fingerprint, "fields": fields}
        for written, writers, own_readers in others
        if written is not contract and (writers or not own_readers) and (fields := differences(written, contract))
    ]


def _reader(resource: TopicResource, reader: Reader) -> dict[str, Any]:
    try:
        lag = resource.lag(reader.committed, reader=reader.name)
        partitions = dict(resource.lag_by_partition(reader.committed))
    except (ChannelUnavailableError, TopicLostError, OSError, ValueError, KeyError, TypeError) as error:
        return {"name": reader.name, "error": str(error)}
    return {
        "name": reader.name,
        "partitions": partitions,
        "position": resource.shown(reader.committed) if reader.committed is not None else None,
        "lag": lag.records,
        "lag_seconds": lag.seconds,
        "reading_for": time.time() - reader.reading_since if reader.reading_since is not None else None,
    }
