"""Matching of a Spark type with a contract: the changes, the checks and the misfits."""

from __future__ import annotations

import difflib
import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as t

from blueprint.avro.model import Array, Contract, Enum, Field, Fixed, Map, Primitive, Record, Schema, Union
from blueprint.avro.spark_types import member, optional
from streamlets.contract.defaults import column_of, default_value
from streamlets.contract.errors import Misfit
from streamlets.contract.fit import Fit
from streamlets.contract.leaves import match_leaf
from streamlets.contract.path import Path
from streamlets.contract.types import spark_type

Get = Callable[[str], Column]


@dataclass(frozen=True, slots=True)
class FieldFit:
    """A field of a record: the source's field with the same name or, if there is none, `constant`."""

    name: str
    fit: Fit
    constant: Column | None = None

    def value(self, get: Get) -> Column:
        """Return the field's value; `get` returns the source's fields by name."""
        return self.constant if self.constant is not None else self.fit.apply(get(self.name))

    def reason(self, get: Get, path: Path) -> Column | None:
        """Return the first reason why the field breaks the schema; None when it cannot."""
        return self.fit.check(get(self.name), path.field(self.name)) if self.fit.check else None


class Matcher:
    """Matches types with the parts of a contract, and collects all misfits."""

    def __init__(self, contract: Contract, *, extra: Literal["fail", "drop"], deep: bool) -> None:
        self.misfits: list[Misfit] = []
        self._contract = contract
        self._extra = extra
        self._deep = deep

    def fields(self, source: t.StructType, record: Record, where: str) -> list[FieldFit]:
        """Return a fit for every field of the record, in its order."""
        names = [f.name for f in source.fields]
        self._check_duplicates(names, where)
        fields = [f.name for f in record.fields]
        if self._extra == "fail":
            for name in names:
                if name not in fields:
                    self._misfit(
                        _join(where, name), "the schema has no such field", _rename_or_drop(name, fields, names)
                    )
        return [self._field(source, field, where) for field in record.fields]

    def _field(self, source: t.StructType, field: Field, where: str) -> FieldFit:
        where = _join(where, field.name)
        if field.name in source.fieldNames():
            column = source[field.name]
            return FieldFit(field.name, self.value(column.dataType, column.nullable, field.schema, where))
        target = spark_type(field.schema, self._contract)
        if field.has_default:
            value = default_value(field.default, field.schema, self._contract)
            return FieldFit(field.name, Fit(), column_of(value, target))
        if not optional(field.schema, self._contract)[1]:
            near = difflib.get_close_matches(field.name, source.fieldNames(), 1)
            remedy = f"did you mean `{near[0]}`?" if near else "add the column to the rows, or a default to the schema"
            self._misfit(where, f"the rows have no such field, expected {target.simpleString()}", remedy)
        return FieldFit(field.name, Fit(), F.lit(None).cast(target))

    def value(self, source: t.DataType, nullable: bool, schema: Schema, where: str) -> Fit:
        """Return how values of a Spark type are converted to a schema.

        Arguments:
            source: the Spark type of the values.
            nullable: whether they may be null.
            schema: the Avro type.
            where: the path of the field, for misfits.
        """
        held, may_be_null = optional(schema, self._contract)
        target = spark_type(held, self._contract)
        if isinstance(source, t.NullType):
            if not may_be_null:
                self._misfit(where, f"is always null, expected {target.simpleString()}")
            return Fit(lambda column: column.cast(target))
        fit = self._held(source, held, target, where)
        if not nullable:
            return fit
        change = fit.change
        if change and isinstance(target, t.StructType):
            change = _unless_null(change)
        return Fit(change, _null_check(fit, may_be_null, isinstance(target, t.StructType)))

    def _held(self, source: t.DataType, held: Schema, target: t.DataType, where: str) -> Fit:
        match held, source:
            case Record(), t.StructType():
                return _struct_fit(self.fields(source, held, where), source)
            case Array(items=items), t.ArrayType():
                return self._array(self.value(source.elementType, source.containsNull, items, f"{where}[]"))
            case Map(values=values), t.MapType(keyType=t.StringType()):
                return self._map(self.value(source.valueType, source.valueContainsNull, values, f"{where}{{}}"))
            case Union(branches=branches), _:
                return self._union(source, branches, where)
            case ((Primitive() | Enum() | Fixed()), _):
                fit = match_leaf(source, target, held)
                if fit:
                    return fit
        cast = f'cast it: F.col(…).cast("{target.simpleString()}")' if not isinstance(target, t.StructType) else ""
        self._misfit(where, f"is {source.simpleString()}, expected {target.simpleString()}", cast)
        return Fit()

    def _array(self, item: Fit) -> Fit:
        change, check = item.change, item.check
        if not (check and self._deep):
            return Fit(change and (lambda column: F.transform(column, change)))

        def first(column: Column, path: Path) -> Column:
            reasons = F.transform(column, lambda value, index: check(value, path.item(index)))
            return F.get(F.filter(reasons, lambda reason: reason.isNotNull()), F.lit(0))

        return Fit(change and (lambda column: F.transform(column, change)), first)

    def _map(self, value: Fit) -> Fit:
        change, check = value.change, value.check
        changed = change and (lambda column: F.transform_values(column, lambda _, inner: change(inner)))
        if not (check and self._deep):
            return Fit(changed)

        def first(column: Column, path: Path) -> Column:
            def entry(pair: Column) -> Column:
                return check(pair.getField("value"), path.value(pair.getField("key")))

            reasons = F.transform(F.map_entries(column), entry)
            return F.get(F.filter(reasons, lambda reason: reason.isNotNull()), F.lit(0))

        return Fit(changed, first)

    def _union(self, source: t.DataType, branches: Sequence[Schema], where: str) -> Fit:
        members = {member(i): branch for i, branch in enumerate(branches)}
        if isinstance(source, t.StructType) and source.fields and set(source.fieldNames()) <= set(members):
            return self._members(source, members, where)
        same = [n for n, b in members.items() if _same(spark_type(b, self._contract), source)]
        if len(same) == 1:
            return self._wrapped(source, same[0], members, where)
        types = ", ".join(f"{n} {spark_type(b, self._contract).simpleString()}" for n, b in members.items())
        remedy = "set one of its members: F.struct(….alias('member0'))"
        self._misfit(where, f"is {source.simpleString()}, expected a union ({types})", remedy)
        return Fit()

    def _members(self, source: t.StructType, members: dict[str, Schema], where: str) -> Fit:
        fits = []
        for name, branch in members.items():
            target = spark_type(branch, self._contract)
            if name not in source.fieldNames():
                fits.append(FieldFit(name, Fit(), F.lit(None).cast(target)))
                continue
            # A null member only means that another member is set.
            nullable = Union((branch, Primitive("null")))
            fits.append(FieldFit(name, self.value(source[name].dataType, True, nullable, _join(where, name))))
        inner = _struct_fit(fits, source)
        present = source.fieldNames()

        def check(column: Column, path: Path) -> Column:
            flags = [column.getField(name).isNotNull().cast("int") for name in present]
            count = functools.reduce(operator.add, flags)
            several = F.when(count != 1, path.say(count, " members of the union are set, expected one"))
            return F.coalesce(several, inner.check(column, path)) if inner.check else several

        return Fit(inner.change, check)

    def _wrapped(self, source: t.DataType, name: str, members: dict[str, Schema], where: str) -> Fit:
        inner = self.value(source, False, members[name], where)

        def change(column: Column) -> Column:
            return F.struct(
                *(
                    (inner.apply(column) if n == name else F.lit(None).cast(spark_type(b, self._contract))).alias(n)
                    for n, b in members.items()
                )
            )

        return Fit(change, inner.check)

    def _check_duplicates(self, names: list[str], where: str) -> None:
        seen: dict[str, str] = {}
        for name in names:
            twin = seen.get(name.lower())
            if twin is not None:
                reason = f"duplicate field `{name}`" if twin == name else f"`{twin}` and `{name}` differ only in case"
                self._misfit(where, reason, "rename one of them")
            seen.setdefault(name.lower(), name)

    def _misfit(self, where: str, reason: str, remedy: str = "") -> None:
        self.misfits.append(Misfit(where, reason, remedy))


def misfits(source: t.StructType, contract: Contract, *, extra: Literal["fail", "drop"]) -> tuple[Misfit, ...]:
    """Return why rows of a type cannot be converted to a contract, without creating column expressions.

    Arguments:
        source: the type of the rows.
        contract: the contract.
        extra: as for `conformance`.

    Returns:
        The misfits by field; () if rows can conform.
    """
    matcher = Matcher(contract, extra=extra, deep=True)
    matcher.fields(source, contract.record, "")
    return tuple(matcher.misfits)


def _struct_fit(fields: list[FieldFit], source: t.StructType) -> Fit:
    def change(column: Column) -> Column:
        return F.struct(*(field.value(column.getField).alias(field.name) for field in fields))

    def check(column: Column, path: Path) -> Column:
        reasons = (field.reason(column.getField, path) for field in fields)
        return F.coalesce(*(reason for reason in reasons if reason is not None))

    same = [f.name for f in fields] == source.fieldNames()
    untouched = same and not any(f.fit.change or f.constant is not None for f in fields)
    return Fit(None if untouched else change, check if any(f.fit.check for f in fields) else None)


def _unless_null(change: Callable[[Column], Column]) -> Callable[[Column], Column]:
    return lambda column: F.when(column.isNotNull(), change(column))


def _null_check(fit: Fit, may_be_null: bool, guard: bool) -> Callable[[Column, Path], Column] | None:
    check = fit.check
    if may_be_null:
        return (lambda column, path: F.when(column.isNotNull(), check(column, path))) if check and guard else check

    def not_null(column: Column, path: Path) -> Column:
        null = F.when(column.isNull(), path.say("is null, and the schema does not allow null"))
        return null.otherwise(check(column, path)) if check else null

    return not_null


def _same(type_: t.DataType, other: t.DataType) -> bool:
    return type_.simpleString() == other.simpleString()


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _rename_or_drop(name: str, fields: list[str], names: list[str]) -> str:
    near = difflib.get_close_matches(name, [field for field in fields if field not in names], 1)
    return f"did you mean `{near[0]}`?" if near else 'drop the column, or set extra="drop"'
