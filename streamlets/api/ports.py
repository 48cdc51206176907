"""Inlets and outlets: the named, Avro-typed ends of a streamlet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import load_contract
from blueprint.html import html_text
from streamlets.api.declaration import Declaration, require_string

Schema = str | Mapping[str, object] | type
"""A schema as an author declares it: the path of an `.avsc` file relative to the file that declares the port, Spark DDL
such as `src string, ts timestamp`, Avro JSON as a string or as a dict, or a dataclass."""


class _Port(Declaration):
    """What inlets and outlets have in common. A port is equal only to itself.

    Attributes:
        from_blueprint: whether the blueprint names the port, instead of the class.
    """

    kind: str
    from_blueprint = False

    def __init__(self, name: str | None, schema: Schema | None) -> None:
        super().__init__(name, "pass a schema as `schema=...`")
        self.schema = schema

    @property
    def name(self) -> str:
        """The name in the blueprint; default: the name of the attribute with `-` for `_`."""
        return self._configured_name()

    def contract(self) -> Contract | None:
        """Return the contract of the declared schema; None without one, and if it cannot be read."""
        if self.schema is None:
            return None
        source = dict(self.schema) if isinstance(self.schema, Mapping) else self.schema
        return load_contract(
            source, base_directory=Path(self.declared.file).parent, declared=self.declared.span
        ).contract

    def _repr_html_(self) -> str:
        """Return the fields of the records for a notebook."""
        contract = self.contract()
        return contract._repr_html_() if contract is not None else html_text(f"{self.kind} without a schema")


class AvroInlet(_Port):
    """An end of a streamlet that reads records from a topic.

    Arguments:
        name: the name in the blueprint; default: the name of the attribute with `-` for `_`.
        schema: the schema of the records that the logic reads, in any form of `Schema`; records are resolved to it from
            their writer's schema by the rules of the Avro specification. Omitted, the configuration must have it
            (`inlets.<name>`).
        on_invalid: what happens to stored data that is not a record, such as a Kafka message whose bytes cannot be
            decoded: `fail` fails the query, `dead-letters` writes the data with its place and the reason to the dead
            letters and continues. The delta channel has no such data.

    Raises:
        TypeError: the name is not a string.
        ValueError: `on_invalid` has another value.

    Example:
        >>> from streamlets import AvroInlet
        >>> inlet = AvroInlet("late-readings", schema="station string NOT NULL, celsius double")
        >>> inlet.name
        'late-readings'
    """

    _NAME = "the name of an inlet"
    kind = "inlet"

    def __init__(
        self,
        name: str | None = None,
        *,
        schema: Schema | None = None,
        on_invalid: Literal["fail", "dead-letters"] = "fail",
    ) -> None:
        super().__init__(name, schema)
        self.on_invalid: Literal["fail", "dead-letters"] = _require_on_invalid(on_invalid)


class AvroOutlet(_Port):
    """An end of a streamlet that writes records to a topic.

    Arguments:
        name: the name in the blueprint; default: the name of the attribute with `-` for `_`.
        schema: the schema of the records in the topic, in any form of `Schema`; rows are converted to exactly this
            schema. Omitted, the configuration must have it (`outlets.<name>`).
        partition_by: columns, or SQL expressions over the schema's columns, by which records belong together. A
            channel with keys computes its key from them; the delta channel partitions its files by those that are
            columns.
        on_invalid: what happens to a row that breaks the schema: `fail` fails the query before any data of the batch
            is published, `dead-letters` writes the row with the reason to the dead letters and continues.
        extra: what happens to columns that the schema does not have: `fail` rejects the query, `drop` drops them.

    Raises:
        TypeError: the name or a partition column is not a string.
        ValueError: `on_invalid` or `extra` has another value.

    Example:
        >>> from streamlets import AvroOutlet
        >>> outlet = AvroOutlet("averages", schema="station string, celsius double", partition_by=["station"])
        >>> outlet.name, outlet.on_invalid
        ('averages', 'fail')
    """

    _NAME = "the name of an outlet"
    kind = "outlet"

    def __init__(
        self,
        name: str | None = None,
        *,
        schema: Schema | None = None,
        partition_by: str | Sequence[str] = (),
        on_invalid: Literal["fail", "dead-letters"] = "fail",
        extra: Literal["fail", "drop"] = "fail",
    ) -> None:
        if extra not in ("fail", "drop"):
            raise ValueError(f"extra must be `fail` or `drop`, found {extra!r}")
        super().__init__(name, schema)
        columns = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
        self.partition_by = tuple(require_string(column, "a partition column of an outlet") for column in columns)
        self.on_invalid: Literal["fail", "dead-letters"] = _require_on_invalid(on_invalid)
        self.extra: Literal["fail", "drop"] = extra


Port = AvroInlet | AvroOutlet


def _require_on_invalid(value: Literal["fail", "dead-letters"]) -> Literal["fail", "dead-letters"]:
    if value not in ("fail", "dead-letters"):
        raise ValueError(f"on_invalid must be `fail` or `dead-letters`, found {value!r}")
    return value
