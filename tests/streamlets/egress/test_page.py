"""The page about sinks: its tables are those of the registry, and its example is the sink in `tests/toy_sink`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from blueprint.catalog import ParameterType, SinkOption, SinkTraits
from streamlets.egress import SINKS

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "sinks.md"
TYPES = {
    ParameterType.STRING: "string",
    ParameterType.INTEGER: "integer",
    ParameterType.BOOLEAN: "boolean",
    ParameterType.DURATION: "duration",
    ParameterType.PATH: "directory",
    ParameterType.MEMORY_SIZE: "size",
}
TABLES = re.compile(r"(?<=<!-- sinks -->\n).*?(?=<!-- end of sinks -->)", re.DOTALL)


def tables(sinks: list[SinkTraits]) -> Iterator[str]:
    """Yield the lines of a table of sinks, and of a table of their options, of which those with the same text share a
    row."""
    yield "\n| sink | output | guarantee | write-ahead log | output modes | partitions | nested columns | package |\n"
    yield "| --- " * 8 + "|\n"
    for sink in sinks:
        modes = ", ".join(f"`{mode}`" for mode in sink.output_modes)
        yield (
            f"| `{sink.name}` | {sink.description.rstrip('.')} | {guarantee(sink)} "
            f"| {yes(sink.write_ahead_log)} | {modes} | {yes(sink.partitioning)} | {yes(sink.nested)} "
            f"| {package(sink)} |\n"
        )
    yield "\n| option | sinks | value | meaning |\n| --- | --- | --- | --- |\n"
    owners: dict[SinkOption, list[str]] = {}
    for sink in sinks:
        for option in sink.options:
            owners.setdefault(option, []).append(f"`{sink.name}`")
        for prefix in sink.passes_on:
            others = SinkOption(
                name=f"{prefix}*" if prefix else "*", description="further options, which are passed on"
            )
            owners.setdefault(others, []).append(f"`{sink.name}`")
    for option, names in owners.items():
        value = ", ".join(f"`{choice}`" for choice in option.choices) or TYPES[option.type]
        default = "; required" if option.required else f"; default: `{option.default}`" if option.default else ""
        yield f"| `{option.name}` | {', '.join(names)} | {value} | {option.description}{default} |\n"
    yield "\n"


def guarantee(sink: SinkTraits) -> str:
    """Return the guarantee of a sink, and the other one that an option gives it."""
    others = (name for option in sink.options if option.name == "guarantee" for name in option.choices)
    return "; ".join([sink.guarantee, *(f"{name} with `guarantee`" for name in others if name != sink.guarantee)])


def package(sink: SinkTraits) -> str:
    """Return what a sink needs besides Streamlets."""
    jars = f"`{sink.connector.jars[0]}` (fetched)" if sink.connector is not None else ""
    return ", ".join(filter(None, (f"`{sink.install}`" if sink.install else "", jars)))


def yes(value: bool) -> str:
    """Return a capability as a word."""
    return "yes" if value else "no"


def test_the_tables_are_those_of_the_registry() -> None:
    """Each built-in sink and each option has a row; `UPDATE_EXPECTED=1` writes the page."""
    page = PAGE.read_text(encoding="utf-8")
    expected = "".join(tables([sink.traits for sink in SINKS.values()]))
    if os.environ.get("UPDATE_EXPECTED"):
        PAGE.write_text(TABLES.sub(lambda _: expected, page), encoding="utf-8")
        return
    (actual,) = TABLES.findall(page)
    assert actual == expected


def test_the_example_is_the_tested_sink() -> None:
    """The page shows the module of the toy sink and its entry point as they are."""
    page = PAGE.read_text(encoding="utf-8")
    assert f"```python\n{(ROOT / 'tests/toy_sink/toy_sink.py').read_text().rstrip()}\n```" in page
    entry = (ROOT / "tests/toy_sink/toy_sink-1.0.dist-info/entry_points.txt").read_text()
    name, target = entry.splitlines()[1].split(" = ")
    assert f'{name} = "{target}"' in page
