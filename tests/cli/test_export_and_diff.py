"""`flow export` and `flow diff`: records of topics as files, and compared."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blueprint.avro.sources.loading import parse_contract
from blueprint.plan import TopicPlan
from cli.records import FORMATS as NAMES
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.datasets.formats import FORMATS
from streamlets.datasets.topic_records import TopicRecords
from tests.streamlets.channels.topics import append

if TYPE_CHECKING:
    from tests.cli.conftest import Flow

ID = {"name": "id", "type": "long"}
NAME = {"name": "name", "type": ["null", "string"]}
HOURS = 3600
BEGIN = 1_700_000_000.0


def contract_with(*fields: Any) -> Any:
    return parse_contract(json.dumps({"type": "record", "name": "R", "fields": list(fields)}))


CONTRACT = contract_with(ID, NAME)


class Hours:
    """A clock that advances by an hour with every commit."""

    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state directory of the application `app`: `records` has 25 records, 5 of each hour, and `copies` the same."""
    clock = Hours()
    channel = DeltaChannel(tmp_path / "app" / "topics", clock=clock)
    for name in ("records", "copies"):
        clock.now = BEGIN
        topic = channel.topic(TopicPlan(name, name, "delta", True, (), (), {}))
        topic.create([CONTRACT])
        for number in range(5):
            ids = list(range(number * 5, number * 5 + 5))
            batch = pa.table({"id": ids, "name": [f"r{id}" if id % 2 else None for id in ids]}).to_batches()
            append(topic, batch, CONTRACT, number, writer="source/out")
            clock.now += HOURS
    return tmp_path


def add(state: Path, topic: str, contract: Any, rows: list[dict[str, Any]], *, number: int = 9) -> None:
    """Append records to a topic by another writer."""
    channel = DeltaChannel(state / "app" / "topics")
    opened = channel.topic(TopicPlan(topic, topic, "delta", True, (), (), {}))
    append(opened, pa.Table.from_pylist(rows).to_batches(), contract, number, writer="other/out")


def exported(file: Path) -> list[Any]:
    return list(FORMATS[file.suffix[1:]].rows(file, CONTRACT, ()))


def test_every_format_can_be_chosen() -> None:
    """The commands name the formats without importing them."""
    assert tuple(FORMATS) == NAMES


@pytest.mark.parametrize("name", FORMATS)
def test_all_records_in_each_format(flow: Flow, state: Path, tmp_path: Path, name: str) -> None:
    """The file has them once each, and a comparison finds none that differs."""
    file = tmp_path / f"out.{name}"
    result = flow("export", "records", "--state-dir", str(state), "--to", str(file))
    assert (result.code, result.out, result.err) == (0, f"records: 25 records exported to {file}\n", "")
    assert [row["id"] for row in exported(file)] == list(range(25))
    same = flow("diff", "records", str(file), "--state-dir", str(state))
    assert (same.code, same.out) == (0, f"records and {file} have the same 25 records\n")
    assert [each.name for each in tmp_path.glob(".*")] == []


def test_other_tools_read_the_files(flow: Flow, state: Path, tmp_path: Path) -> None:
    """Types are kept where a format has them."""
    for name in FORMATS:
        flow("export", "records", "--state-dir", str(state), "--to", str(tmp_path / f"out.{name}"))
    table = pq.read_table(tmp_path / "out.parquet")
    assert (table.num_rows, str(table.schema.field("id").type)) == (25, "int64")
    with (tmp_path / "out.csv").open(newline="") as file:
        assert list(csv.DictReader(file))[:2] == [{"id": "0", "name": ""}, {"id": "1", "name": "r1"}]
    with (tmp_path / "out.avro").open("rb") as stream:
        assert list(fastavro.reader(stream))[1] == {"id": 1, "name": "r1"}


def test_to_the_standard_output(flow: Flow, state: Path) -> None:
    """It has the records and nothing else."""
    result = flow("export", "records", "--state-dir", str(state), "--to", "-", "--as", "jsonl")
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert (result.code, len(lines), lines[3]) == (0, 25, {"id": 3, "name": "r3"})
    assert flow("export", "records", "--state-dir", str(state), "--to", "-").code == 2
    both = flow("export", "records", "--state-dir", str(state), "--to", "-", "--as", "csv", "--format", "json")
    assert (both.code, "use --format json with --to FILE" in both.err) == (2, True)


def test_the_reader_of_the_standard_output_may_end(state: Path) -> None:
    """As in `flow export ... | head -1`, without a message; the exit code says that not all was read."""
    add(state, "records", CONTRACT, [{"id": number, "name": "x" * 1000} for number in range(1000)])
    command = [sys.executable, "-m", "cli.main", "export", "records", "--state-dir", str(state), "--to", "-"]
    with subprocess.Popen([*command, "--as", "csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"id,name\n"
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 1)


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        (["--since", "2023-11-15T01:13:20"], range(15, 25)),  # three hours later, in UTC
        (["--since", "2023-11-15T02:13:20+01:00"], range(15, 25)),
        (["--until", "2023-11-15T01:13:20"], range(15)),
        (["--since", "2023-11-14T23:13:20", "--until", "2023-11-15T00:13:20"], range(5, 10)),
        (["--since", "1h"], []),
        (["--until", "1h"], range(25)),
    ],
)
def test_a_range_of_times(flow: Flow, state: Path, tmp_path: Path, options: list[str], ids: Any) -> None:
    """The times are those of the commits."""
    file = tmp_path / "out.jsonl"
    result = flow("export", "records", "--state-dir", str(state), "--to", str(file), *options, "--format", "json")
    assert json.loads(result.out)["records"] == len(ids)
    assert [row["id"] for row in exported(file)] == list(ids)


@pytest.mark.parametrize("text", ["tomorrow", "1764000000", "2026-13-01", ""])
def test_a_time_that_is_none(flow: Flow, state: Path, text: str) -> None:
    """The message says what a time looks like."""
    result = flow("export", "records", "--state-dir", str(state), "--to", "x.csv", "--since", text)
    assert result.code == 2
    assert f"`{text}` is neither a time, such as 2026-01-31T12:00, nor an age, such as 2h" in result.err


def test_times_in_the_wrong_order(flow: Flow, state: Path) -> None:
    """They would choose no record."""
    result = flow("diff", "records", "copies", "--state-dir", str(state), "--since", "1h", "--until", "2h")
    assert (result.code, "--since must be before --until" in result.err) == (2, True)


def test_a_file_that_exists_is_kept(flow: Flow, state: Path, tmp_path: Path) -> None:
    """Only `--overwrite` replaces it, and then at once."""
    file = tmp_path / "out.csv"
    file.write_text("mine")
    refused = flow("export", "records", "--state-dir", str(state), "--to", str(file))
    assert (refused.code, file.read_text()) == (1, "mine")
    assert f"error: {file} exists\n  help: replace it with --overwrite" in refused.err
    assert flow("export", "records", "--state-dir", str(state), "--to", str(file), "--overwrite").code == 0
    assert len(exported(file)) == 25


@pytest.mark.parametrize("kind", ["pipe", "directory", "loop"])
def test_only_files_are_replaced(flow: Flow, state: Path, tmp_path: Path, kind: str) -> None:
    """Anything else stays what it is, also with `--overwrite`."""
    target = tmp_path / "target.csv"
    if kind == "pipe":
        os.mkfifo(target)
    elif kind == "loop":
        target.symlink_to(target)
    else:
        target.mkdir()
    before = target.lstat()
    for options in ((), ("--overwrite",)):
        result = flow("export", "records", "--state-dir", str(state), "--to", str(target), *options)
        assert result.code in (1, 2)
        assert "is not a regular file" in result.err or "is a directory" in result.err
    assert (target.lstat().st_ino, target.lstat().st_mode) == (before.st_ino, before.st_mode)


def test_a_replaced_file_keeps_its_place_and_permissions(flow: Flow, state: Path, tmp_path: Path) -> None:
    """A link stays a link."""
    (tmp_path / "real.csv").write_text("mine")
    (tmp_path / "real.csv").chmod(0o600)
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert flow("export", "records", "--state-dir", str(state), "--to", str(tmp_path / "link.csv")).code == 1
    result = flow("export", "records", "--state-dir", str(state), "--to", str(tmp_path / "link.csv"), "--overwrite")
    assert result.code == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert len(exported(tmp_path / "real.csv")) == 25
    assert (tmp_path / "real.csv").stat().st_mode & 0o777 == 0o600


def test_a_failure_leaves_the_file_as_it_was(flow: Flow, state: Path, tmp_path: Path) -> None:
    """Also one in the middle of the records: nothing half-written appears."""
    file = tmp_path / "out.csv"
    file.write_text("mine")
    paths = sorted((state / "app" / "topics" / "records").rglob("*.parquet"), key=lambda path: path.stat().st_mtime)
    paths[-1].unlink()
    result = flow("export", "records", "--state-dir", str(state), "--to", str(file), "--overwrite")
    assert result.code == 1
    assert "Traceback" not in result.err
    assert file.read_text() == "mine"
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["out.csv"]


def test_a_directory_that_does_not_exist(flow: Flow, state: Path, tmp_path: Path) -> None:
    """One clear error."""
    result = flow("export", "records", "--state-dir", str(state), "--to", str(tmp_path / "none" / "out.csv"))
    assert result.code == 1
    assert result.err == f"error: {tmp_path}/none/out.csv cannot be written: No such file or directory\n"


def test_a_full_disk(flow: Flow, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says so, and no file is left."""
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    monkeypatch.setattr("streamlets.datasets.export._draft", lambda file: full)
    result = flow("export", "records", "--state-dir", str(state), "--to", str(tmp_path / "out.csv"))
    assert (result.code, result.err) == (1, f"error: {tmp_path}/out.csv cannot be written: No space left on device\n")
    assert not full.is_symlink()
    assert not (tmp_path / "out.csv").exists()


def test_the_name_of_a_file_has_its_format(flow: Flow, state: Path, tmp_path: Path) -> None:
    """A name without one needs `--as`."""
    result = flow("export", "records", "--state-dir", str(state), "--to", "records.txt")
    assert result.code == 2
    assert "ends with none of .parquet, .csv, .jsonl, .avro: choose the format with --as" in result.err
    file = tmp_path / "records.txt"
    assert flow("export", "records", "--state-dir", str(state), "--to", str(file), "--as", "csv").code == 0
    assert flow("diff", "records", str(file), "--state-dir", str(state)).code == 2
    assert flow("diff", "records", str(file), "--state-dir", str(state), "--as", "csv").code == 0


def test_topics_with_several_schemas(flow: Flow, state: Path, tmp_path: Path) -> None:
    """Without a run it must be chosen; records of the others are converted, and omitted fields are reported."""
    wider = contract_with(ID, NAME, {"name": "more", "type": "int", "default": 7})
    add(state, "records", wider, [{"id": 99, "name": "x", "more": 1}])
    file, options = tmp_path / "out.jsonl", ("--state-dir", str(state), "--overwrite")
    unclear = flow("export", "records", *options, "--to", str(file))
    assert unclear.code == 2
    assert "`records` has several schemas; choose one with --schema" in unclear.err
    narrow = flow("export", "records", *options, "--to", str(file), "--schema", CONTRACT.fingerprint)
    assert (narrow.code, narrow.err) == (0, "`more` of other schemas of `records` is not read\n")
    assert len(exported(file)) == 26
    wide = flow("export", "records", *options, "--to", str(file), "--schema", wider.fingerprint)
    assert (wide.code, wide.err) == (0, "")
    assert [json.loads(line)["more"] for line in file.read_text().splitlines()] == [7] * 25 + [1]
    assert flow("export", "records", *options, "--to", str(file), "--schema", "abc").code == 2


def test_records_that_the_schema_cannot_read(flow: Flow, state: Path, tmp_path: Path) -> None:
    """The error names the schema that can."""
    other = contract_with({"name": "id", "type": "string"})
    add(state, "records", other, [{"id": "a"}])
    result = flow("export", "records", "--state-dir", str(state), "--to", str(tmp_path / "out.csv"),
                  "--schema", CONTRACT.fingerprint)  # fmt: skip
    assert result.code == 1
    assert f"help: --schema {other.fingerprint} reads these records" in result.err
    assert not (tmp_path / "out.csv").exists()


def test_two_topics(flow: Flow, state: Path) -> None:
    """Also after one of them has more."""
    options = ("--state-dir", str(state))
    assert flow("diff", "records", "copies", *options).code == 0
    add(state, "copies", CONTRACT, [{"id": 3, "name": "r3"}, {"id": 30, "name": "\x1b[31m"}])
    result = flow("diff", "records", "copies", *options)
    assert result.code == 1
    assert result.out == (
        "records has 25 records, copies has 27; 25 are the same\n"
        "  2 only in copies\n"
        "\n"
        'only in copies: id = 3, name = "r3"\n'
        "\n"
        'only in copies: id = 30, name = "\\u001b[31m"\n'
    )
    until = flow("diff", "records", "copies", *options, "--until", "1h")
    assert until.code == 0


def test_records_that_arrive_during_a_comparison(flow: Flow, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sides are read up to their ends at the start."""
    rows = TopicRecords.rows

    def late(records: TopicRecords) -> Any:
        yield from rows(records)
        add(state, "records", CONTRACT, [{"id": 100, "name": "late"}], number=len(added))
        added.append(1)

    added: list[int] = []
    monkeypatch.setattr(TopicRecords, "rows", late)
    result = flow("diff", "records", "records", "--state-dir", str(state))
    assert (result.code, result.out) == (0, "records (left) and records (right) have the same 25 records\n")
    assert len(added) == 2


@pytest.mark.parametrize("command", [("export", "--to", "out.csv"), ("diff", "copies")])
def test_a_command_that_is_ended_leaves_nothing(state: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Neither a draft of the file nor a temporary directory."""
    batch = [{"id": number, "name": "x"} for number in range(20_000)]
    for number in range(20):
        add(state, "records", CONTRACT, batch, number=10 + number)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    name, *rest = command
    arguments = [sys.executable, "-m", "cli.main", name, "records", *rest, "--state-dir", str(state)]
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(arguments, cwd=tmp_path, env=environment, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not [*temporary.glob("*/records.db"), *tmp_path.glob(".out.csv.*")]:
            time.sleep(0.001)
        assert process.poll() is None, "it has ended before the signal"
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 143
    assert [*temporary.iterdir(), *tmp_path.glob(".out.csv.*"), *tmp_path.glob("out.csv")] == []


def test_records_with_a_key(flow: Flow, state: Path, tmp_path: Path) -> None:
    """Both values of a column that differs are shown, in text and as data."""
    file = tmp_path / "other.csv"
    file.write_text(
        "id,name\n" + "".join(f"{id},{'x' if id % 10 == 5 else f'r{id}' if id % 2 else ''}\n" for id in range(1, 25))
    )
    arguments = ("diff", "records", str(file), "--state-dir", str(state), "--by", "id", "--limit", "2")
    result = flow(*arguments)
    assert result.code == 1
    assert result.out == (
        f"records has 25 records, {file} has 24; 22 are the same\n"
        "  2 different\n"
        "  1 only in records\n"
        "\n"
        "only in records: id = 0, name = null\n"
        "\n"
        "id = 15\n"
        f'  name: "r15" in records, "x" in {file}\n'
        "\n"
        "1 more; --limit shows more of them\n"
    )
    data = json.loads(flow(*arguments, "--format", "json").out)
    assert (data["application"], data["equal"], data["different"], data["only-left"]) == ("app", 22, 2, 1)
    assert data["first"][1] == {
        "key": {"id": 15}, "left": {"id": 15, "name": "r15"}, "right": {"id": 15, "name": "x"},
    }  # fmt: skip
    assert flow("diff", "records", str(file), "--state-dir", str(state), "--ignore", "name").code == 1
    file.write_text("id\n" + "".join(f"{id}\n" for id in range(25)))
    assert flow("diff", "records", str(file), "--state-dir", str(state), "--ignore", "name").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["records", "nothing"], "there is no topic `nothing`"),
        (["nothing", "records"], "there is no topic `nothing`"),
        (["records", "none.csv"], "there is no file or topic `none.csv`"),
        (["records", "directory.parquet"], "directory.parquet is a directory; name one of its files"),
        (["records", "file.txt"], "the name of file.txt ends with none of .parquet"),
        (["records", "copies", "--by", "ide"], "--by: the records have no column `ide`; did you mean `id`?"),
        (["records", "copies", "--by", ","], "--by names no column"),
        (["records", "copies", "--by", "id", "--ignore", "name,id"], "`id` is in --by and in --ignore"),
    ],
)
def test_wrong_arguments(
    flow: Flow, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    """Each has one clear error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "directory.parquet").mkdir()
    (tmp_path / "file.txt").touch()
    result = flow("diff", *arguments, "--state-dir", str(state))
    assert result.code == 2
    assert message in result.err


def test_a_broken_file(flow: Flow, state: Path, tmp_path: Path) -> None:
    """The error has its place."""
    (tmp_path / "x.csv").write_text("id,name\nseven,a\n")
    result = flow("diff", "records", str(tmp_path / "x.csv"), "--state-dir", str(state))
    assert result.code == 1
    assert result.err == f"error: {tmp_path}/x.csv, line 2: `id`: is a `str` ('seven'), expected `long`\n"


def test_a_temporary_directory_without_space(
    flow: Flow, state: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One clear error, and nothing is left in it."""
    import sqlite3

    def full(*_: object) -> object:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("streamlets.datasets.difference._counted", full)
    result = flow("diff", "records", "copies", "--state-dir", str(state))
    assert result.code == 1
    assert "error: the records cannot be compared: they cannot be sorted in" in result.err
    assert "database or disk is full" in result.err
    assert list((tmp_path / "temporary").iterdir()) == []
