"""Every place that creates a file if it is absent, crossed with the answers that a storage may give although it has
created the file: a network file system repeats a request whose answer was lost, as do the clients of object stores."""

from __future__ import annotations

import ast
import errno
import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamlets
from streamlets.channels.base import Reader, TopicWriteError
from streamlets.channels.copying import CopyError, copy_topic
from streamlets.channels.delta.actions import Txn
from streamlets.channels.delta.compaction import Compaction, compact_table
from streamlets.channels.delta.manifest import Manifest, Manifests
from streamlets.channels.delta.parquet import data_file
from streamlets.channels.delta.table import open_table
from streamlets.channels.delta.topic import DeltaTopic
from streamlets.channels.kafka.identity import Identity
from streamlets.egress.files.record import FilesRecord as Record
from streamlets.ingress.batch_sources.requests import request_retry, retry_requests
from streamlets.ingress.batch_sources.tasks import Task
from streamlets.ingress.spouts.lease import Lease
from streamlets.runner.dead_letters.replay import replay
from streamlets.storage import objects
from tests.streamlets.channels.topics import READING, Clock, add, append, batch, ids_of, made
from tests.streamlets.runner.dead_letters.test_replay import bury, coloured, every, outlets, waiting


@dataclass(frozen=True)
class Site:
    """A use of `put_if_absent`.

    Arguments:
        modules: the modules that call it, relative to `streamlets`.
        prepare: sets a directory up.
        act: what creates files; it is repeated after an error.
        check: asserts that everything exists once.
    """

    modules: tuple[str, ...]
    prepare: Callable[[Path], None]
    act: Callable[[Path], None]
    check: Callable[[Path], None]


def _nothing(_: Path) -> None:
    """Set nothing up."""


def _append(root: Path) -> None:
    append(made(root), [batch(range(3))], READING, 1)


def _append_partitioned(root: Path) -> None:
    append(made(root), [batch(range(3))], READING, 1, partition_by=("src",))


def _has_three(root: Path) -> None:
    whole(made(root), [0, 1, 2])


def _commit_batch(root: Path) -> None:
    """Commit a batch as `BatchWriter` does, with files that Spark would have written."""
    topic = made(root)
    with topic.appender(READING, writer="schema"):
        table = open_table(topic.path / READING.fingerprint, files=False)
    path = table.path / "data" / "q" / uuid.uuid4().hex / "part.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_batches([batch(range(3))]), path)
    written = Manifest({f"readings/{READING.fingerprint}": (data_file(table.path, path),)})
    decided = Manifests(root / "_staged" / "q").decide(0, written)
    for files in decided.tables.values():
        table.append(files, Txn("q", 0), Clock())


def _fill(root: Path) -> None:
    topic = made(root)
    for number in range(6):
        add(topic, number, [number])


def _compact(root: Path) -> None:
    table = open_table(made(root).path / READING.fingerprint, files=True, removed=True)
    compact_table(table, Compaction(fresh=2), Clock())


def _is_compact(root: Path) -> None:
    whole(made(root), list(range(6)))
    assert len(open_table(made(root).path / READING.fingerprint, files=True).files or {}) == 1


def _purge(root: Path) -> None:
    topic = made(root)
    topic.purge([Reader("r", topic.end())])


def _is_empty(root: Path) -> None:
    topic = made(root)
    whole(topic, [])
    add(topic, 100, [100])
    whole(topic, [100])


def _bury(root: Path) -> None:
    bury(root, 0, range(3))
    made(root, "out")


def _replay(root: Path) -> None:
    replay(bury(root, 0, range(3)), outlets(root, coloured("RED", "GREEN")), every, at_once=2)


def _replayed(root: Path) -> None:
    whole(made(root, "out"), [0, 1, 2])
    assert waiting(bury(root, 0, range(3))) == 0


def _copy(root: Path) -> None:
    copy_topic(made(root), made(root, "target"), contract=None, partition_by=lambda _: ())


def _copied(root: Path) -> None:
    whole(made(root, "target"), list(range(6)))


def _identify(root: Path) -> None:
    Identity(root / "identity.json").check("t", "one")


def _decide_moves(root: Path) -> None:
    Record(root, "s", "app").decide("q", 0, {"a": "b"})


def _moves_decided(root: Path) -> None:
    assert Record(root, "s", "app").decided("q", 0) == {"a": "b"}


def _retry(root: Path) -> None:
    request_retry(root, Task(3, b'"x"', "json", "k"))


def _retry_requested(root: Path) -> None:
    assert [request.number for request in retry_requests(root)] == [3]


def _lease(root: Path) -> None:
    with Lease(root, wait=lambda _: True, waiting=lambda _: None) as lease:
        assert lease.acquire()


SITES = {
    "append": Site(
        ("channels/delta/table.py", "channels/delta/table_directory.py", "channels/delta/log.py"),
        _nothing, _append, _has_three,
    ),
    "append to partitions": Site((), _nothing, _append_partitioned, _has_three),
    "batch": Site(("channels/delta/manifest.py",), _nothing, _commit_batch, _has_three),
    "compaction": Site((), _fill, _compact, _is_compact),
    "retention": Site((), _fill, _purge, _is_empty),
    "replay": Site(("channels/replays.py",), _bury, _replay, _replayed),
    "copy": Site((), _fill, _copy, _copied),
    "identity": Site(("channels/kafka/identity.py", "channels/kafka/schemas.py"), _nothing, _identify, _identify),
    "file sink": Site(("egress/files/record.py",), lambda root: Record(root, "s", "app").claim("q"), _decide_moves,
                      _moves_decided),
    "retry": Site(("ingress/batch_sources/requests.py",), _nothing, _retry, _retry_requested),
    "lease": Site(("ingress/spouts/lease.py",), _nothing, _lease, _nothing),
}  # fmt: skip


def whole(topic: DeltaTopic, ids: list[int]) -> None:
    """Check that a topic has these records, each file of its log, and no other data file."""
    assert sorted(ids_of(topic.scan())) == ids
    for path in topic.path.glob("*/_delta_log"):
        table = open_table(path.parent, files=True, removed=True)
        known = {*(table.files or {}), *(table.removed or {})}
        assert set(table.files or {}) <= {p.relative_to(table.path).as_posix() for p in table.path.rglob("*.parquet")}
        assert known


class Fault:
    """Creates a file, and gives a wrong answer for the nth of them."""

    def __init__(self, answer: str, nth: int) -> None:
        self.answer, self.nth, self.calls = answer, nth, 0

    def strikes(self) -> bool:
        self.calls += 1
        return self.calls == self.nth


@pytest.fixture
def inject(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Fault], None]]:
    """Return a function that installs a fault below, or in place of, `put_if_absent`."""
    link, put = os.link, objects.put_if_absent

    def install(fault: Fault) -> None:
        def faulty_link(source: Path, target: Path) -> None:
            link(source, target)
            if fault.strikes():
                raise FileExistsError(errno.EEXIST, "exists") if fault.answer == "link exists" else OSError(5, "EIO")

        def faulty_put(path: Path, data: bytes) -> bool:
            created = put(path, data)
            if fault.strikes():
                if fault.answer == "put raises":
                    raise OSError(errno.EIO, "Input/output error")
                return False
            return created

        if fault.answer.startswith("link"):
            monkeypatch.setattr(os, "link", faulty_link)
        else:
            monkeypatch.setattr(objects, "put_if_absent", faulty_put)

    yield install
    monkeypatch.undo()


ANSWERS = ("link exists", "link fails", "put exists", "put raises")


@pytest.mark.parametrize(("site", "answer"), list(product(SITES, ANSWERS)))
def test_a_wrong_answer_neither_loses_nor_repeats_anything(
    tmp_path: Path, site: str, answer: str, inject: Callable[[Fault], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever create of a use gets the wrong answer: after a repetition, everything exists once and can be read."""
    use = SITES[site]
    for nth in range(1, 40):
        root = tmp_path / str(nth)
        root.mkdir()
        use.prepare(root)
        fault = Fault(answer, nth)
        with monkeypatch.context():
            inject(fault)
            for _ in range(2):
                try:
                    use.act(root)
                    break
                except (OSError, TopicWriteError, CopyError):
                    assert not answer.startswith("link"), "the answer of the link is compared with the file"
            monkeypatch.undo()
        use.act(root)
        use.check(root)
        if fault.calls < nth:
            assert nth > 1, "the use creates nothing"
            return
    raise AssertionError("too many creates")


def test_every_use_is_tested() -> None:
    """The modules that call `put_if_absent` are those of the table."""
    package = Path(str(streamlets.__file__)).parent
    calling = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "put_if_absent"
    }
    assert calling == {module for site in SITES.values() for module in site.modules}
