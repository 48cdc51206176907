"""What `flow verify` reports about the deduplication of inlets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blueprint.avro.model import Contract, Primitive, Union
from blueprint.catalog import InletSettings, TopicProblem
from streamlets.channels.kafka.settings import (
    DEDUPLICATE_HEADERS,
    DEDUPLICATE_KEYS,
    DEDUPLICATE_WATERMARK,
    GUARANTEE,
    STAGED,
)

_CODE = "deduplicate"


def inlet_problems(inlet: InletSettings) -> Iterator[TopicProblem]:
    """Yield why an inlet cannot recognize doubles as its settings say."""
    keys: Sequence[str] = DEDUPLICATE_KEYS.of(inlet.options) or ()
    headers, watermark = DEDUPLICATE_HEADERS.of(inlet.options), DEDUPLICATE_WATERMARK.of(inlet.options)
    name = f"`{inlet.streamlet}.{inlet.name}`"
    if keys and headers:
        yield TopicProblem(
            _CODE, _path(DEDUPLICATE_HEADERS.key), f"the inlet {name} deduplicates both by columns and by headers",
            help=("remove `keys`, or set `by-headers = false`",),
        )  # fmt: skip
        return
    if not keys and not headers:
        return
    if inlet.real_time:
        yield TopicProblem(
            _CODE, _path((DEDUPLICATE_KEYS if keys else DEDUPLICATE_HEADERS).key),
            f"the inlet {name} deduplicates, and its streamlet has a real-time trigger",
            causes=("Spark's real-time mode does not support deduplication within a watermark",),
            help=("use a `processing-time` trigger", "deduplicate where a later streamlet reads the topic"),
        )  # fmt: skip
        return
    if keys and not watermark:
        yield TopicProblem(
            _CODE, _path(DEDUPLICATE_KEYS.key), f"the inlet {name} deduplicates without a watermark",
            causes=("without one, the state of the query grows without bound",),
            help=("set `deduplicate.watermark` to the column with the time of a record",),
        )  # fmt: skip
    yield from _column_problems(inlet.contract, name, keys, watermark)
    if headers:
        for outlet in sorted(inlet.producers):
            options = inlet.producers[outlet]
            if not STAGED.of(options) and GUARANTEE.of(options) != "exactly-once":  # then there are no doubles
                yield TopicProblem(
                    _CODE, _path(DEDUPLICATE_HEADERS.key),
                    f"the inlet {name} deduplicates by headers, but the outlet `{outlet}` is not staged",
                    causes=("without staging, a replayed batch may number other records with the same headers",),
                    help=(
                        f"set `flow.streamlets.{outlet.replace('.', '.outlets.')}.staged = true`",
                        "deduplicate by columns with `deduplicate.keys`",
                    ),
                )  # fmt: skip


def _column_problems(
    contract: Contract | None, name: str, keys: Sequence[str], watermark: str | None
) -> Iterator[TopicProblem]:
    if contract is None:
        return
    fields = {field.name: field.schema for field in contract.record.fields}
    for setting, columns in ((DEDUPLICATE_KEYS, keys), (DEDUPLICATE_WATERMARK, [watermark] if watermark else [])):
        for column in columns:
            if column not in fields:
                yield TopicProblem(
                    _CODE, _path(setting.key), f"the inlet {name} has no column `{column}`",
                    help=(f"use one of its columns: {', '.join(f'`{known}`' for known in fields)}",),
                )  # fmt: skip
    if watermark in fields and not _is_timestamp(fields[watermark]):
        yield TopicProblem(
            _CODE, _path(DEDUPLICATE_WATERMARK.key), f"the column `{watermark}` of the inlet {name} is not a timestamp",
            help=("use a column of the logical type `timestamp-millis` or `timestamp-micros`",),
        )  # fmt: skip


def _is_timestamp(schema: object) -> bool:
    if isinstance(schema, Union):
        return any(map(_is_timestamp, schema.branches))
    return isinstance(schema, Primitive) and schema.logical is not None and "timestamp-m" in schema.logical.name


def _path(key: str) -> tuple[str, ...]:
    return tuple(key.split("."))
