"""Conversion of values without parts: the Avro types of a Spark type, with the necessary changes and checks."""

from __future__ import annotations

from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as t

from blueprint.avro.model import Enum, Fixed, Primitive
from streamlets.contract.fit import Change, Check, Fit
from streamlets.contract.path import Path
from streamlets.contract.values import DAY, SHOWN, UUID, listed_symbols

_WIDER: dict[type[t.DataType], tuple[type[t.DataType], ...]] = {
    t.ByteType: (t.IntegerType, t.LongType, t.FloatType, t.DoubleType),
    t.ShortType: (t.IntegerType, t.LongType, t.FloatType, t.DoubleType),
    t.IntegerType: (t.LongType, t.DoubleType),
    t.LongType: (),
    t.FloatType: (t.DoubleType,),
}
_DIGITS: dict[type[t.DataType], int] = {t.ByteType: 3, t.ShortType: 5, t.IntegerType: 10, t.LongType: 19}


def match_leaf(source: t.DataType, target: t.DataType, schema: Primitive | Enum | Fixed) -> Fit | None:
    """Return how values are converted to a schema; None if they cannot be converted.

    A conversion never changes a value: there is no rounding, parsing or formatting.

    Arguments:
        source: the Spark type of the values.
        target: the Spark type of the schema.
        schema: the Avro type.
    """
    if isinstance(target, t.DecimalType):
        return _decimal(source, target)
    cast = None
    if isinstance(source, t.StringType) and isinstance(target, t.StringType):
        cast = None if source == target else _caster(target)  # a collation is not part of a contract
    elif source != target:
        if type(target) not in _WIDER.get(type(source), ()):
            return None
        cast = _caster(target)
    logical = schema.logical.name if not isinstance(schema, Enum) and schema.logical else ""
    match schema:
        case Enum():
            return Fit(cast, _symbol_check(schema))
        case Fixed():
            return Fit(cast, _size_check(schema))
        case Primitive() if logical == "uuid" and isinstance(target, t.StringType):
            return Fit(cast, _uuid_check)
        case Primitive() if logical in DAY:
            return Fit(cast, _time_check(logical))
        case Primitive() if logical == "timestamp-millis":
            return Fit(_truncate)
        case Primitive() if logical == "local-timestamp-millis":
            return Fit(_truncate_local)
        case _:
            return Fit(cast)


def _caster(target: t.DataType) -> Change:
    return lambda column: column.cast(target)


def _decimal(source: t.DataType, target: t.DecimalType) -> Fit | None:
    if isinstance(source, t.DecimalType):
        digits, scale = source.precision - source.scale, source.scale
    elif type(source) in _DIGITS:
        digits, scale = _DIGITS[type(source)], 0
    else:
        return None
    if source == target:
        return Fit()
    if digits <= target.precision - target.scale and scale <= target.scale:
        return Fit(_caster(target))

    def check(column: Column, path: Path) -> Column:
        # If casting back gives the same value, neither integer digits nor fractional digits were lost.
        same = column.try_cast(target).try_cast(source).eqNullSafe(column)
        return F.when(~same, path.say(column, f" does not fit decimal({target.precision},{target.scale})"))

    return Fit(lambda column: column.try_cast(target), check)


def _symbol_check(enum: Enum) -> Check:
    symbols = listed_symbols(enum.symbols)

    def check(column: Column, path: Path) -> Column:
        shown = F.substring(column, 1, SHOWN)
        return F.when(
            ~column.isin(*enum.symbols), path.say("'", shown, f"' is not a symbol of `{enum.name}` ({symbols})")
        )

    return check


def _size_check(fixed: Fixed) -> Check:
    def check(column: Column, path: Path) -> Column:
        size = F.length(column)
        unit = F.when(size == 1, " byte").otherwise(" bytes")
        return F.when(size != fixed.size, path.say(size, unit, f", expected {fixed.size} for `{fixed.name}`"))

    return check


def _uuid_check(column: Column, path: Path) -> Column:
    return F.when(~column.rlike(f"^{UUID}\\z"), path.say("'", F.substring(column, 1, SHOWN), "' is not a UUID"))


def _time_check(logical: str) -> Check:
    def check(column: Column, path: Path) -> Column:
        return F.when(~column.between(0, DAY[logical] - 1), path.say(column, f" is out of range for {logical}"))

    return check


def _truncate(column: Column) -> Column:
    return F.date_trunc("millisecond", column)


def _truncate_local(column: Column) -> Column:
    # date_trunc converts to the session's time zone, where a local time may not exist.
    beyond = F.date_part(F.lit("SECOND"), column) % F.lit(Decimal("0.001"))
    return column - F.make_dt_interval(secs=beyond)
