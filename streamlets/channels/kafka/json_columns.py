"""Messages of JSON as Spark columns, through variants: each value exactly, or a reason.

A variant keeps the type of each value as it was written, and refuses repeated members. Spark's `from_json` would round
decimals, read numbers as strings, and take the last of repeated members.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F

from blueprint.avro.model import Array, Contract, Enum, Field, Fixed, Map, Primitive, Record, Schema
from blueprint.avro.spark_types import leaf_name, optional
from blueprint.wording import counted
from streamlets.contract.defaults import column_of, default_value
from streamlets.contract.path import Path
from streamlets.contract.types import spark_type
from streamlets.contract.values import DAY, SHOWN, UUID, listed_symbols
from streamlets.contract.wire import json_rules as rules

_END = "end of message 6b1f2a4c"
"""The second item of the array around a message. Spark's parser ignores what follows a value."""

NOT_JSON = "the message is not one JSON object in UTF-8 without repeated members"
_YEARS = ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z")


class ReadValue(NamedTuple):
    """A value as a column of its Spark type, and why it is not one; the reason is null if it is."""

    value: Column
    reason: Column


def parsed_message(value: Column) -> Column:
    """Return the bytes of a message as a variant for `json_record`."""
    text = value.cast("string")
    inside = F.concat(F.lit("["), F.when(F.is_valid_utf8(text), text), F.lit(f',"{_END}"]'))
    return F.try_parse_json(inside)


def json_record(parsed: Column, contract: Contract, unit: rules.Unit) -> ReadValue:
    """Return the record of a message.

    Arguments:
        parsed: a column of `parsed_message`, in a step of its own, because it is used for each field.
        contract: the contract to read with. Members that it does not have are ignored.
        unit: the unit of times that are numbers.
    """
    items = F.try_variant_get(parsed, "$", "array<variant>")
    whole = (F.size(items) == 2) & F.try_variant_get(parsed, "$[1]", "string").eqNullSafe(F.lit(_END))
    message = _Json(parsed, "$[0]")
    record = _Reader(contract, unit).record(message, contract.record, Path())
    is_object = F.coalesce(whole & message.is_object, F.lit(False))
    return ReadValue(record.value, F.when(~is_object, F.lit(NOT_JSON)).otherwise(record.reason))


@dataclass(frozen=True, slots=True)
class _Json:
    """A value in a variant.

    Arguments:
        root: the variant.
        path: the path of the value in it, as `variant_get` expects it.
    """

    root: Column
    path: str = "$"

    def member(self, name: str) -> _Json:
        return replace(self, path=f"{self.path}.{name}")

    def get(self, kind: str) -> Column:
        return F.try_variant_get(self.root, self.path, kind)

    @property
    def raw(self) -> Column:
        return F.variant_get(self.root, self.path, "variant")

    @property
    def kind(self) -> Column:
        """The type of the value, such as `STRING`, `BIGINT`, `DECIMAL(3,2)` or `OBJECT<a: BIGINT>`."""
        return F.schema_of_variant(self.raw)

    @property
    def is_object(self) -> Column:
        return self.kind.startswith("OBJECT<")

    @property
    def text(self) -> Column:
        return F.when(self.kind == "STRING", self.get("string"))

    @property
    def integer(self) -> Column:
        return F.when(self.kind == "BIGINT", self.get("bigint"))


class _Reader:
    """Builds the columns of the values of a contract."""

    def __init__(self, contract: Contract, unit: rules.Unit) -> None:
        self._contract = contract
        self._unit = unit

    def record(self, json: _Json, record: Record, path: Path) -> ReadValue:
        """Return a record of an object."""
        read = [self._field(json.member(field.name), field, path.field(field.name)) for field in record.fields]
        names = [field.name for field in record.fields]
        values = [column.value.alias(name) for column, name in zip(read, names, strict=True)]
        return ReadValue(F.struct(*values), F.coalesce(F.lit(None).cast("string"), *(column.reason for column in read)))

    def _field(self, json: _Json, field: Field, path: Path) -> ReadValue:
        read = self._value(json, field.schema, path)
        missing = json.raw.isNull()
        absent, reason = F.lit(None), path.say("is missing and has no default")
        if field.has_default:
            default = default_value(field.default, field.schema, self._contract)
            absent = column_of(default, spark_type(field.schema, self._contract))
        if field.has_default or optional(field.schema, self._contract)[1]:
            reason = F.lit(None)
        return ReadValue(F.when(missing, absent).otherwise(read.value), F.when(missing, reason).otherwise(read.reason))

    def _value(self, json: _Json, schema: Schema, path: Path) -> ReadValue:
        held, nullable = optional(schema, self._contract)
        null = F.is_variant_null(json.raw)
        read = self._present(json, held, path)
        refused = F.lit(None) if nullable else path.say("is null, and the schema does not allow null")
        return ReadValue(F.when(~null, read.value), F.when(null, refused).otherwise(read.reason))

    def _present(self, json: _Json, held: Schema, path: Path) -> ReadValue:
        match held:
            case Record():
                read = self.record(json, held, path)
                wrong = path.say("is ", _shown(json), ", expected an object")
                return ReadValue(read.value, F.when(json.is_object, read.reason).otherwise(wrong))
            case Array(items=items):
                values = json.get("array<variant>")
                reasons = F.transform(values, lambda item, at: self._value(_Json(item), items, path.item(at)).reason)
                value = F.transform(values, lambda item: self._value(_Json(item), items, path).value)
                wrong = path.say("is ", _shown(json), ", expected an array")
                return ReadValue(value, F.when(values.isNull(), wrong).otherwise(_first(reasons)))
            case Map(values=inner):
                members = F.when(json.is_object, json.get("map<string,variant>"))
                value = F.transform_values(members, lambda _, item: self._value(_Json(item), inner, path).value)
                reasons = F.transform(
                    F.map_entries(members),
                    lambda entry: self._value(_Json(entry["value"]), inner, path.value(entry["key"])).reason,
                )
                wrong = path.say("is ", _shown(json), ", expected an object")
                return ReadValue(value, F.when(members.isNull(), wrong).otherwise(_first(reasons)))
            case Primitive(type="null"):
                return ReadValue(F.lit(None), path.say("is ", _shown(json), ", expected null"))
        assert isinstance(held, (Primitive, Enum, Fixed))
        value = self._leaf(json, held)
        return ReadValue(value, F.when(value.isNull(), path.say("is ", _shown(json), f", expected {_expected(held)}")))

    def _leaf(self, json: _Json, schema: Primitive | Enum | Fixed) -> Column:
        """Return a value without parts, null if it is not one of the type."""
        logical = "" if isinstance(schema, Enum) or schema.logical is None else schema.logical.name
        match schema, logical:
            case Enum(symbols=symbols), _:
                return F.when(json.text.isin(*symbols), json.text)
            case ((Primitive() | Fixed()), "decimal"):
                assert schema.logical is not None
                pattern = rules.decimal(schema.logical.precision or 0, schema.logical.scale or 0)
                number = (json.kind == "STRING") | (json.kind == "BIGINT") | json.kind.startswith("DECIMAL")
                text = F.when(number, json.get("string"))
                return F.when(_matches(text, pattern), text.try_cast(leaf_name(schema)))
            case Primitive(), "date":
                return F.when(_matches(json.text, rules.DATE), json.text.try_cast("date"))
            case Primitive(), "time-millis" | "time-micros":
                return _time_of_day(json, logical).cast(leaf_name(schema))
            case Primitive(), _ if logical.startswith(("timestamp-mi", "local-timestamp-mi")):
                return self._timestamp(json, logical)
            case Primitive(), "uuid":
                return F.when(_matches(json.text, UUID), json.text)
            case Fixed(size=size), _:
                return F.when(F.length(_binary(json)) == size, _binary(json))
            case Primitive(type="bytes"), _:
                return _binary(json)
            case Primitive(type="string"), _:
                return json.text
            case Primitive(type="boolean"), _:
                return F.when(json.kind == "BOOLEAN", json.get("boolean"))
            case Primitive(type="int"), _:
                return F.when(json.integer.between(-(2**31), 2**31 - 1), json.integer.cast("int"))
            case Primitive(type="long"), _:
                return json.integer
            case Primitive(type="float" | "double" as kind), _:
                return _float(json, kind)
        raise AssertionError(f"unexpected type {schema!r}")

    def _timestamp(self, json: _Json, logical: str) -> Column:
        local = logical.startswith("local-")
        text = F.when(_matches(json.text, rules.timestamp(logical)), _with_seconds(json.text, 16))
        if local:
            time = text.try_cast("timestamp_ntz")
        else:
            with_zone = F.when(_matches(text, f".*[0-9]{rules.ZONE}"), text).otherwise(F.concat(text, F.lit("Z")))
            colon = F.regexp_replace(with_zone, "([+-][0-9]{2})([0-9]{2})$", "$1:$2")
            instant = colon.try_cast("timestamp")
            time = F.when(instant.between(*(F.lit(year).cast("timestamp") for year in _YEARS)), instant)
        if self._unit == "invalid":
            return time
        micros = F.try_multiply(json.integer, F.lit(rules.MICROSECONDS[self._unit]).cast("bigint"))
        sound = (micros >= rules.EARLIEST) & (micros < rules.LATEST)
        sound = sound & ((micros == 0) | (F.abs(micros) >= rules.NEAR_EPOCH))
        return F.coalesce(time, _from_micros(F.when(sound, micros), local=local))


def _from_micros(micros: Column, *, local: bool) -> Column:
    if not local:
        return F.timestamp_micros(micros)
    seconds = (micros.cast("decimal(18,0)") * F.lit("0.000001").cast("decimal(6,6)")).cast("decimal(18,6)")
    return F.lit("1970-01-01T00:00:00").cast("timestamp_ntz") + F.make_dt_interval(secs=seconds)


def _time_of_day(json: _Json, logical: str) -> Column:
    text = F.when(_matches(json.text, rules.time_of_day(logical)), _with_seconds(json.text, 5))
    micros = F.unix_micros(F.concat(F.lit("1970-01-01T"), text, F.lit("Z")).try_cast("timestamp"))
    ticks = micros if logical == "time-micros" else F.floor(micros / 1000)
    return F.coalesce(ticks, F.when(json.integer.between(0, DAY[logical] - 1), json.integer))


def _with_seconds(text: Column, minutes: int) -> Column:
    """Return a time with its seconds, which Java omits if they are 0 and Spark expects; `minutes` is where they end."""
    return F.regexp_replace(text, f"^(.{{{minutes}}})(?!:)", "$1:00")


def _binary(json: _Json) -> Column:
    data = F.try_to_binary(json.text, F.lit("base64"))
    return F.when(F.base64(data) == json.text, data)  # only as it is written by the standard


def _float(json: _Json, kind: str) -> Column:
    is_number = (json.kind == "BIGINT") | (json.kind == "DOUBLE") | json.kind.startswith("DECIMAL")
    number = F.when(is_number, json.get("double")).cast(kind)
    infinite = [F.lit(sign * float("inf")) for sign in (1, -1)]
    word = F.when(json.text.isin(*rules.NUMBERS), json.text)
    return F.coalesce(F.when(~number.isin(*infinite), number), word.try_cast(kind))


def _matches(text: Column, pattern: str) -> Column:
    return text.rlike(f"^(?:{pattern})\\z")


def _first(reasons: Column) -> Column:
    return F.get(F.filter(reasons, lambda reason: reason.isNotNull()), F.lit(0))


def _shown(json: _Json) -> Column:
    return F.concat(F.lit("`"), F.substring(F.to_json(json.raw), 1, SHOWN), F.lit("`"))


def _expected(schema: Primitive | Enum | Fixed) -> str:
    logical = "" if isinstance(schema, Enum) or schema.logical is None else schema.logical.name
    match schema, logical:
        case Enum(symbols=symbols, name=name), _:
            return f"a symbol of `{name}` ({listed_symbols(symbols)})"
        case _, "decimal":
            return leaf_name(schema)
        case _, _ if "timestamp-mi" in logical:
            return f"`{logical}`: a string in ISO 8601, or a number that is not of another unit"
        case Fixed(size=size), _:
            return f"{counted(size, 'byte')} in base64"
        case Primitive(type="bytes"), _:
            return "bytes in base64"
    assert isinstance(schema, Primitive)
    return f"`{logical or schema.type}`"
