"""The types of texts: what all texts of a column may be, and why they may be something else."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from blueprint.wording import counted
from streamlets.contract.values import UUID

_INTEGER = re.compile(r"-?(0|[1-9]\d*)")
_CODE = re.compile(r"\+?\d+")
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FIXED = re.compile(r"-?\d+\.(\d+)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?")
_OTHER_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}([T ].*)?")
_UUID = re.compile(UUID)
_NULLS = {"na", "n/a", "nan", "null", "none", "nil", "-", "--", "?", "\\n"}

USUAL_PRECISION = 18
"""The precision of a proposed decimal whose values are shorter."""

LARGEST_PRECISION = 38
"""The largest precision of a decimal in Spark."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A type, as Avro in JSON, and why it may be another one; "" without a doubt."""

    type: object
    doubt: str = ""


def text_type(texts: Sequence[str]) -> Guess:
    """Return the type of texts without a type, such as the cells of a CSV file.

    Arguments:
        texts: the texts, none of which is empty; at least one.
    """
    if (guess := _number(texts) or string_type(texts, {})) is not None:
        return guess
    return _kept(texts)


def string_type(texts: Sequence[str], default: Mapping[str, object] | None = None) -> Guess | None:
    """Return the type of strings that JSON has instead of dates, times and UUIDs.

    Arguments:
        texts: the strings; at least one.
        default: None for `string` if they are not; otherwise None is returned.
    """
    if _all(_UUID.fullmatch, texts):
        return Guess({"type": "string", "logicalType": "uuid"})
    if _all(_is_date, texts):
        return Guess({"type": "int", "logicalType": "date"})
    if _all(_is_time, texts):
        zones = [text for text in texts if re.search(r"(Z|[+-]\d\d:?\d\d)$", text)]
        doubt = "" if len(zones) == len(texts) else f"`{_without(zones, texts)}` has no time zone: it is read as UTC"
        return Guess({"type": "long", "logicalType": "timestamp-micros"}, doubt)
    if default is not None:
        return None
    return Guess("string", _date_doubt(texts[0]))


def decimal_type(numbers: Sequence[Decimal]) -> object | None:
    """Return the decimal that has all numbers; None if it would be longer than Spark allows."""
    scale = max(0, *(-int(number.as_tuple().exponent) for number in numbers))
    whole = max(1, *(number.adjusted() + 1 for number in numbers))
    precision = whole + scale
    if precision > LARGEST_PRECISION:
        return None
    precision = USUAL_PRECISION if precision <= USUAL_PRECISION - 2 else LARGEST_PRECISION
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def long_or_decimal(numbers: Sequence[int]) -> Guess:
    """Return the type of integers."""
    if all(-(2**63) <= number < 2**63 for number in numbers):
        return Guess("long")
    largest = max(numbers, key=abs)
    decimal = decimal_type([Decimal(number) for number in numbers])
    return Guess(decimal or "double", f"`{largest}` is too large for a `long`")


def _number(texts: Sequence[str]) -> Guess | None:
    """Return the type of texts that all are numbers or truths; None if they are not."""
    if _all(lambda text: text.lower() in ("true", "false"), texts):
        return Guess("boolean")
    if _all(_INTEGER.fullmatch, texts):
        return long_or_decimal([int(text) for text in texts])
    if _all(_CODE.fullmatch, texts):
        code = next(text for text in texts if not _INTEGER.fullmatch(text))
        return Guess("string", f"`{code}` would lose its first character as a number")
    if not _all(_NUMBER.fullmatch, texts):
        return None
    fixed = [match[1] for text in texts if (match := _FIXED.fullmatch(text))]
    scales = {len(digits) for digits in fixed}
    ends = any(digits.endswith("0") for digits in fixed)
    if len(fixed) == len(texts) and len(scales) == 1 and (ends or scales == {2}):
        scale = scales.pop()
        if (type := decimal_type([Decimal(text) for text in texts])) is not None:
            every = (
                f"every value has {counted(scale, 'digit')} after the point"
                if len(texts) > 1
                else f"the only value is {texts[0]}"
            )
            return Guess(type, f"{every}; use `double` if others have more")
    return Guess("double")


def _kept(texts: Sequence[str]) -> Guess:
    """Return the type of texts that are not of one type, with what they would be without a few of them."""
    if _all(lambda text: text.lower() in ("yes", "no", "y", "n", "on", "off", "t", "f"), texts):
        return Guess(
            "string", f"`{texts[0]}` may be a truth: `boolean` has `true`, `yes` and `on`, and their opposites"
        )
    counts = Counter(texts)
    for text in counts:
        others = [other for other in texts if other != text]
        guess = _number(others) or string_type(others, {}) if others and text.lower() in _NULLS else None
        if guess is not None:
            return Guess("string", f"only `{text}` is not a {type_name(guess.type)}: set `null-value` if it means null")
    odd = [text for text in counts if not _NUMBER.fullmatch(text)]
    if 0 < len(odd) <= len(counts) // 4:
        return Guess("string", f"most values are numbers, but `{odd[0]}` is not")
    return Guess("string", _date_doubt(texts[0]))


def _date_doubt(text: str) -> str:
    """Return the doubt about a string that may be a date in another form; "" if it is not."""
    other = _OTHER_DATE.fullmatch(text) and not _is_date(text) and not _is_time(text)
    return f"`{text}` may be a date, but not in the form 2026-01-31" if other else ""


def type_name(type: object) -> str:
    """Return the name of a type without parts."""
    return str(type.get("logicalType") or type["type"]) if isinstance(type, Mapping) else str(type)


def _all(test: Callable[[str], object], texts: Sequence[str]) -> bool:
    return all(test(text) for text in texts)


def _without(some: Sequence[str], texts: Sequence[str]) -> str:
    return next(text for text in texts if text not in some)


def _is_date(text: str) -> bool:
    return bool(_DATE.fullmatch(text)) and _is_iso(datetime.date.fromisoformat, text)


def _is_time(text: str) -> bool:
    return bool(_TIME.fullmatch(text)) and _is_iso(datetime.datetime.fromisoformat, text)


def _is_iso(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True
