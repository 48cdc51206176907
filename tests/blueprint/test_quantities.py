"""Durations and sizes as the HOCON specification spells them."""

from __future__ import annotations

import pytest

from blueprint.quantities import (
    Duration,
    MemorySize,
    QuantityError,
    backoff,
    duration,
    memory_size,
    with_singulars,
)

DURATIONS = {
    1: "ns nano nanos nanosecond nanoseconds",
    10**3: "us micro micros microsecond microseconds",
    10**6: "ms milli millis millisecond milliseconds",
    10**9: "s second seconds",
    60 * 10**9: "m minute minutes",
    3600 * 10**9: "h hour hours",
    86400 * 10**9: "d day days",
}
SIZES = {1: "B b byte bytes"}
for power, (prefix, binary) in enumerate(
    [("kilo", "kibi"), ("mega", "mebi"), ("giga", "gibi"), ("tera", "tebi"),
     ("peta", "pebi"), ("exa", "exbi"), ("zetta", "zebi"), ("yotta", "yobi")], start=1,
):  # fmt: skip
    big = prefix[0].upper()
    SIZES[1000**power] = f"{'kB' if power == 1 else big + 'B'} {prefix}byte {prefix}bytes"
    SIZES[1024**power] = f"{big} {prefix[0]} {big}i {big}iB {binary}byte {binary}bytes"


@pytest.mark.parametrize(("size", "units"), DURATIONS.items())
def test_units_of_durations(size: int, units: str) -> None:
    """All spellings of a unit, with and without space, whole and in part."""
    for unit in units.split():
        assert duration(f"3{unit}") == duration(f" 3 {unit} ") == Duration(3 * size)
        assert duration(f"1.5 {unit}") == Duration(size * 3 // 2)


@pytest.mark.parametrize(("size", "units"), SIZES.items())
def test_units_of_sizes(size: int, units: str) -> None:
    """Powers of ten and of two, as the specification tells them apart."""
    for unit in units.split():
        if 2 * size < 2**63:
            assert memory_size(f"2{unit}") == memory_size(f"2 {unit}") == MemorySize(2 * size)
        assert memory_size(f"0.0000005 {unit}") == MemorySize(size // 2_000_000)


def test_bare_numbers_are_milliseconds_and_bytes() -> None:
    """The default units."""
    assert duration("250") == duration("250 ms")
    assert memory_size("512") == MemorySize(512)


@pytest.mark.parametrize("text", ["", "s", "5 S", "5 Minutes", "5 parsecs", "five s", "-1 s", "1e3 s", "1 s 2",
                                  "5\u0664 s", "300 years", "999999 days", "9" * 40])  # fmt: skip
def test_no_durations(text: str) -> None:
    """Unknown units, other cases, negative and endless times are refused in one sentence that repeats the text."""
    with pytest.raises(QuantityError) as raised:
        duration(text)
    assert "`" in str(raised.value)


@pytest.mark.parametrize("text", ["", "MB", "5 KB", "5 mb", "-1 B", "5 kib", "8 EiB", "999999999999999 YiB"])
def test_no_sizes(text: str) -> None:
    """Units are case sensitive, as specified; what does not fit 63 bits is larger than any memory or disk."""
    with pytest.raises(QuantityError):
        memory_size(text)


def test_a_back_off_is_a_pause() -> None:
    """Without one, what fails would be restarted all the time."""
    assert backoff("10 ms") == Duration(10**7)
    for text in ("0", "0s", "9 ms", "9999 us"):
        with pytest.raises(QuantityError, match="shorter than 10 ms"):
            backoff(text)


@pytest.mark.parametrize(
    ("text", "sql"),
    [("0", "0 seconds"), ("90 s", "90 seconds"), ("2 h", "2 hours"), ("1500 ms", "1500 milliseconds"),
     ("48 hours", "2 days"), ("5 us", "5 microseconds"), ("1.5 ms", "1500 microseconds")],
)  # fmt: skip
def test_spark_s_spelling(text: str, sql: str) -> None:
    """The largest unit that is exact."""
    assert duration(text).sql == str(duration(text)) == sql


def test_one_unit_is_singular_in_messages() -> None:
    """Spark, and descriptors, have the plural."""
    assert (str(duration("60 s")), duration("60 s").sql, str(duration("1 us"))) == (
        "1 minute",
        "1 minutes",
        "1 microsecond",
    )


def test_amounts_of_one_unit_in_other_texts() -> None:
    """Descriptors and Spark have `1 hours`; messages about them have `1 hour`."""
    assert with_singulars("a window of 1 hours was 11 hours, 1.1 hours or v1 hours; 1 minutes") == (
        "a window of 1 hour was 11 hours, 1.1 hours or v1 hours; 1 minute"
    )


def test_as_python_types() -> None:
    """Seconds and `timedelta`."""
    assert duration("1500 ms").seconds == 1.5
    assert duration("1 day").timedelta.days == 1
