"""Inlets and outlets: the named, Avro-typed ends of a streamlet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from streamlets.api.declared import declaration_of
from streamlets.api.texts import text

Schema = str | Mapping[str, object] | type
"""How an author may give a schema: the path of an `.avsc` file relative to the file that declares the port, Spark
DDL text such as `src string, ts timestamp`, Avro JSON as text or as a dict, or a dataclass."""


class _Port:
    """What inlets and outlets have in common. Ports are equal only to themselves."""

    kind: str

    def __init__(self, name: str | None, schema: Schema | None) -> None:
        self._name = None if name is None else text(name, f"the name of an {self.kind}", "a schema is `schema=...`")
        self.schema = schema
        self.attribute: str | None = None
        self.declared = declaration_of(self)

    def __set_name__(self, owner: type, attribute: str) -> None:
        if self.attribute is None:
            self.attribute = attribute

    @property
    def name(self) -> str:
        """As the blueprint writes it: the name given, else the attribute's with `-` for `_`."""
        if self._name is not None:
            return self._name
        if self.attribute is None:
            raise ValueError(f"an {self.kind} without a name must be an attribute of its streamlet's class")
        return self.attribute.strip("_").replace("_", "-")

    def __repr__(self) -> str:
        name = self._name or (self.name if self.attribute else "?")
        return f"{type(self).__name__}({name!r})"


class AvroInlet(_Port):
    """An end that takes records from a topic.

    Arguments:
        name: as the blueprint writes it; left out, the attribute's name with `-` for `_`.
        schema: of the records it wants, in any form of `Schema`; what was written is resolved to it by the rules of
            the Avro specification. Left out, the configuration gives it (`inlets.<name>`).

    Raises:
        TypeError: the name is no text.
    """

    kind = "inlet"

    def __init__(self, name: str | None = None, *, schema: Schema | None = None) -> None:
        super().__init__(name, schema)


class AvroOutlet(_Port):
    """An end that gives records to a topic.

    Arguments:
        name: as the blueprint writes it; left out, the attribute's name with `-` for `_`.
        schema: of the records it gives, in any form of `Schema`; rows are brought to exactly it. Left out, the
            configuration gives it (`outlets.<name>`).
        partition_by: columns, or SQL expressions over the schema's columns, that records belong together by: a
            channel with keys makes its key of them, the delta channel lays its files out by those that are columns.
        on_invalid: what becomes of a row that breaks the schema: `fail` ends the query before anything of its batch
            is written, `dead-letters` puts the row with its reason there and goes on.
        extra: what becomes of columns that the schema does not have: `fail` refuses the query, `drop` leaves them out.

    Raises:
        TypeError: the name, or what it is partitioned by, is no text.
        ValueError: `on_invalid` or `extra` is none of its values.
    """

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
        if on_invalid not in ("fail", "dead-letters"):
            raise ValueError(f"on_invalid is `fail` or `dead-letters`, not {on_invalid!r}")
        if extra not in ("fail", "drop"):
            raise ValueError(f"extra is `fail` or `drop`, not {extra!r}")
        super().__init__(name, schema)
        columns = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
        self.partition_by = tuple(text(column, "what an outlet is partitioned by") for column in columns)
        self.on_invalid: Literal["fail", "dead-letters"] = on_invalid
        self.extra: Literal["fail", "drop"] = extra


Port = AvroInlet | AvroOutlet
