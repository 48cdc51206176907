"""The page about sources: its tables are those of the registry, and its example is the source in `tests/toy_source`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from blueprint.catalog import ParameterType, SourceOption, SourceTraits
from streamlets.ingress.sources import SOURCES

ROOT = Path(__file__).resolve().parents[4]
PAGE = ROOT / "docs" / "sources.md"
TYPES = {
    ParameterType.STRING: "string",
    ParameterType.INTEGER: "integer",
    ParameterType.BOOLEAN: "boolean",
    ParameterType.DURATION: "duration",
    ParameterType.MEMORY_SIZE: "size",
}
TABLES = re.compile(r"(?<=<!-- sources -->\n).*?(?=<!-- end of sources -->)", re.DOTALL)


def tables(sources: list[SourceTraits]) -> Iterator[str]:
    """Yield the lines of a table of sources, and of a table of their options, of which those with the same text share a
    row."""
    head = ("source", "reads", "task", "known by", "guarantee", "order", "`discovery`", "nested columns", "package")
    yield f"\n| {' | '.join(head)} |\n"
    yield "| --- " * len(head) + "|\n"
    for source in sources:
        yield (
            f"| `{source.name}` | {source.description.rstrip('.')} | {source.task} | {source.identity} "
            f"| {source.guarantee} | {source.order} | {discovery(source)} | {'yes' if source.nested else 'no'} "
            f"| {f'`{source.install}`' if source.install else ''} |\n"
        )
    yield "\n| option | sources | value | meaning |\n| --- | --- | --- | --- |\n"
    owners: dict[SourceOption, list[str]] = {}
    for source in sources:
        for option in source.options:
            owners.setdefault(option, []).append(f"`{source.name}`")
        for prefix in source.passes_on:
            others = SourceOption(name=f"{prefix}*", description="further options, which are passed on")
            owners.setdefault(others, []).append(f"`{source.name}`")
    for option, names in owners.items():
        value = ", ".join(f"`{choice}`" for choice in option.choices) or TYPES[option.type]
        if option.secret:
            value = "a secret"
        default = "; required" if option.required else f"; default: `{option.default}`" if option.default else ""
        yield f"| `{option.name}` | {', '.join(names)} | {value} | {option.description}{default} |\n"
    yield "\n"


def discovery(source: SourceTraits) -> str:
    """Return the default of `discovery` of a source."""
    config = source.discovery.get("config")
    settings = " ".join(f"`{key} = {value}`" for key, value in config.items()) if isinstance(config, dict) else ""
    return " ".join(filter(None, (f"`{source.discovery['triggerer']}`", settings)))


def test_the_tables_are_those_of_the_registry() -> None:
    """Each built-in source and each option has a row; `UPDATE_EXPECTED=1` writes the page."""
    page = PAGE.read_text(encoding="utf-8")
    expected = "".join(tables([source.traits for source in SOURCES.values()]))
    if os.environ.get("UPDATE_EXPECTED"):
        PAGE.write_text(TABLES.sub(lambda _: expected, page), encoding="utf-8")
        return
    (actual,) = TABLES.findall(page)
    assert actual == expected


def test_the_example_is_the_tested_source() -> None:
    """The page shows the module of the toy source and its entry point as they are."""
    page = PAGE.read_text(encoding="utf-8")
    assert f"```python\n{(ROOT / 'tests/toy_source/toy_source.py').read_text().rstrip()}\n```" in page
    entry = (ROOT / "tests/toy_source/toy_source-1.0.dist-info/entry_points.txt").read_text()
    name, target = entry.splitlines()[1].split(" = ")
    assert f'{name} = "{target}"' in page
