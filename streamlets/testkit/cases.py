"""Test cases as data: the records that a streamlet reads, and the records expected from it, in a YAML file.

streamlet: shop.revenue.Revenue
parameters: {lateness: 1 day}        # optional; a case may have more
cases:
  - name: an open day is not written
    put:
      orders: orders.jsonl           # a file next to this one, or a list of records
    take:
      revenue: []
"""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from blueprint.spelling import suggestion
from blueprint.wording import counted
from streamlets.api.source_location import SourceLocation, located
from streamlets.api.streamlet import SparkStreamlet
from streamlets.storage.files import replace_file
from streamlets.testkit.failures import TestkitError
from streamlets.testkit.records import from_batches, to_batches

if TYPE_CHECKING:
    from streamlets.testkit.kit import Testkit
    from streamlets.testkit.streamlet_under_test import StreamletUnderTest

_FILE_KEYS = ("streamlet", "parameters", "cases")
_CASE_KEYS = ("name", "parameters", "put", "take")

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """A case of a file.

    Arguments:
        file: the YAML file.
        index: its place in the list of cases, from 0.
        name: its name.
        streamlet: the class path of the streamlet.
        parameters: the values of parameters by key.
        put: the records of inlets: a list, or the name of a file with JSON lines.
        take: the expected records of outlets, in the same forms.
    """

    file: Path
    index: int
    name: str
    streamlet: str
    parameters: Mapping[str, object]
    put: Mapping[str, object]
    take: Mapping[str, object]

    def run(self, kit: Testkit, *, update: bool = False) -> str:
        """Run one step, and compare the records of the outlets in any order.

        Arguments:
            kit: the kit to run in.
            update: whether to replace expectations that differ by the records that were written.

        Returns:
            The differences; empty if there are none, or if they were recorded.

        Raises:
            TestkitError: the class, a file or a port does not exist, or a value is invalid.
            RecordError: a record breaks its schema.
            StepFailedError: a query failed.
        """
        with located(SourceLocation(str(self.file), 1, 0, 1, 0)):  # relative paths start in the directory of the file
            app = kit.streamlet(_class(self.streamlet, self.file), parameters=self.parameters)
        for inlet, records in self.put.items():
            app.inlet(inlet).put(self._records(records))
        app.step()
        differences = []
        for outlet, records in self.take.items():
            written = app.outlet(outlet).take()
            try:
                expected = self._expected(app, outlet, records)
            except (TestkitError, ValueError):
                if not update:
                    raise
                expected = None
            if expected is not None and sorted(map(repr, expected)) == sorted(map(repr, written)):
                continue
            if update:
                self._record(outlet, written)
            else:
                differences.append(_difference(outlet, expected or [], written))
        return "\n".join(differences)

    def _expected(self, app: StreamletUnderTest, outlet: str, records: object) -> Rows:
        """Return expected records with the values that an outlet would have.

        Raises:
            TestkitError: a file cannot be read.
            RecordError: a record breaks the schema.
        """
        contract = next(port.contract for port in app.plan.outlets if port.name == outlet)
        return from_batches(to_batches(self._records(records), contract), contract)

    def _records(self, records: object) -> list[Any]:
        """Return records, or the records of the named file."""
        if isinstance(records, list):
            return records
        if not isinstance(records, str):
            raise TestkitError(f"{self.file}: records must be a list or the name of a file, found {records!r:.60}")
        file = self.file.parent / records
        try:
            lines = file.read_text(encoding="utf-8").split("\n")
        except OSError as error:
            raise TestkitError(f"{self.file}: `{records}` cannot be read: {error.strerror}") from None
        return [_json_line(line, file, number) for number, line in enumerate(lines, 1) if line.strip()]

    def _record(self, outlet: str, written: Rows) -> None:
        """Replace the expectation of an outlet, and leave the rest of the file as it is, with its comments."""
        expected = self.take[outlet]
        if isinstance(expected, str):
            text = "".join(f"{_json(row)}\n" for row in written)
            replace_file(self.file.parent / expected, text.encode())
            return
        text = self.file.read_text(encoding="utf-8")
        take = _take_node(yaml.compose(text, Loader=yaml.SafeLoader), self.index)
        key, value = _entry(take, outlet)
        indent = "\n" + " " * (key.start_mark.column + 2)
        rows = [_flow(row) for row in written]
        in_block = written and not take.flow_style
        recorded = "".join(f"{indent}- {row}" for row in rows) if in_block else f" [{', '.join(rows)}]"
        begin, end = key.end_mark.index + 1, _end(value)
        replace_file(self.file, (text[:begin] + recorded + text[end:]).encode())


def read_cases(file: Path) -> tuple[Case, ...]:
    """Read the cases of a file.

    Raises:
        TestkitError: the file is not of the form that the module describes.
    """
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise TestkitError(f"{file}: invalid YAML: {' '.join(str(error).split())}") from None
    content = _mapping(data, _FILE_KEYS, f"{file}")
    cases = content.get("cases")
    if not isinstance(content.get("streamlet"), str) or not isinstance(cases, list):
        raise TestkitError(f"{file}: expected the class path `streamlet` and the list `cases`")
    return tuple(_case(file, index, case, content) for index, case in enumerate(cases))


def _case(file: Path, index: int, data: object, content: Mapping[str, Any]) -> Case:
    place = f"{file}: case {index + 1}"
    case = _mapping(data, _CASE_KEYS, place)
    sections = {key: _mapping(case.get(key), None, f"{place}, `{key}`") for key in ("put", "take", "parameters")}
    shared = _mapping(content.get("parameters"), None, f"{file}: `parameters`")
    return Case(
        file=file,
        index=index,
        name=str(case.get("name") or f"case {index + 1}"),
        streamlet=content["streamlet"],
        parameters={**shared, **sections["parameters"]},
        put=sections["put"],
        take=sections["take"],
    )


def _mapping(data: object, keys: Sequence[str] | None, place: str) -> Mapping[str, Any]:
    """Return a mapping with some of the keys; one that is omitted is empty.

    Raises:
        TestkitError: the data is not a mapping, or has another key.
    """
    if data is None and keys is None:
        return {}
    if not isinstance(data, dict):
        raise TestkitError(f"{place}: expected a mapping, found {data!r:.60}")
    unknown = next((str(key) for key in data if keys is not None and key not in keys), None)
    if keys is not None and unknown is not None:
        raise TestkitError(f"{place}: unknown key `{unknown}`; {suggestion(unknown, keys)}")
    return data


def _class(path: str, file: Path) -> type[SparkStreamlet]:
    module, _, name = path.rpartition(".")
    try:
        value = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise TestkitError(f"{file}: the streamlet `{path}` cannot be imported: {error}") from error
    if not (isinstance(value, type) and issubclass(value, SparkStreamlet)):
        raise TestkitError(f"{file}: `{path}` is not a `SparkStreamlet`")
    return value


def _json_line(line: str, file: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise TestkitError(f"{file}:{number}: invalid JSON: {error.msg}") from None


def _difference(outlet: str, expected: Rows, written: Rows) -> str:
    """Return the records that only one of two lists has, and how many both have."""
    before, after = Counter(map(_flow, expected)), Counter(map(_flow, written))
    lines = [f"the outlet `{outlet}` has other records than expected (--flow-update records these):"]
    for heading, rows in (("expected, and not written", before - after), ("written, and not expected", after - before)):
        if rows:
            lines += [f"  {heading}:", *(f"    {row}" for row in rows.elements())]
    if both := (before & after).total():
        lines.append(f"  as expected: {counted(both, 'other')}")
    return "\n".join(lines)


def _flow(row: Mapping[str, Any]) -> str:
    """Return a record on one line of YAML."""
    return yaml.safe_dump(
        _plain(row), default_flow_style=True, width=10**9, sort_keys=False, allow_unicode=True
    ).strip()


def _plain(value: Any) -> Any:
    """Return a value with times and decimals as strings."""
    match value:
        case Mapping():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case None | bool() | int() | float() | str() | bytes():
            return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _json(row: Mapping[str, Any]) -> str:
    """Return a record on one line of JSON.

    Raises:
        TestkitError: it has bytes, for which JSON has no form.
    """
    try:
        return json.dumps(_plain(row), ensure_ascii=False)
    except TypeError:
        raise TestkitError("records with bytes cannot be written as JSON lines: write the case in YAML") from None


def _take_node(root: yaml.Node | None, index: int) -> yaml.MappingNode:
    """Return the node of the expectations of a case."""
    cases = _entry(root, "cases")[1]
    assert isinstance(cases, yaml.SequenceNode)
    take = _entry(cases.value[index], "take")[1]
    assert isinstance(take, yaml.MappingNode)
    return take


def _entry(node: yaml.Node | None, name: str) -> tuple[yaml.Node, yaml.Node]:
    assert isinstance(node, yaml.MappingNode)
    return next((key, value) for key, value in node.value if key.value == name)


def _end(node: yaml.Node) -> int:
    """Return the offset after the last character of a node; the parser's is after the comments that follow."""
    return max(_ends(node))


def _ends(node: yaml.Node) -> Iterator[int]:
    block = isinstance(node, yaml.CollectionNode) and not node.flow_style
    if not block or not node.value:
        yield node.end_mark.index
        return
    for item in node.value:
        for inner in item if isinstance(item, tuple) else (item,):
            yield from _ends(inner)
