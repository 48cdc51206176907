"""`streamlets.Source` over a server of pages that fails, and over a table whose rows are inserted meanwhile.

Each round adds records before and while the application runs, and kills it with `kill -9` while it reads. At the end
each record must be in the topic and in the egress once.
"""

from __future__ import annotations

import json
import random
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

from benchmarks.kills.batch_source import BatchSource
from benchmarks.kills.harness import KILL
from benchmarks.processes import killed_at_end

_NEW = 60
"""The records of a round."""

_PAGE = 7
_BLUEPRINT = """
blueprint {{
  streamlets {{
    pages {{
      class = streamlets.Source
      outlets.out = "id long NOT NULL, text string"
      parameters {{
        {source}
        discovery.config.interval = 300ms
        max-tasks-per-batch = 3
        task-retry-delay = 50ms
      }}
    }}
    archive {{
      class = streamlets.Sink
      inlets.in = "id long, text string"
      parameters {{ to = parquet, options.path = out }}
    }}
  }}
  topics {{ pages {{ producers = [pages.out], consumers = [archive.in] }} }}
}}
flow.application = kills
"""


class SourceServer(BatchSource):
    """The application in a directory, and the source of its records, whose number is in `fed`."""

    points: ClassVar[tuple[str, ...]] = ()
    each, kills = 0, 12

    def source(self) -> str:
        """Return the parameters of the source."""
        raise NotImplementedError

    def add(self, first: int, end: int) -> None:
        """Add records to the source.

        Arguments:
            first: the id of the first one.
            end: the id after the last one.
        """
        raise NotImplementedError

    def write_application(self) -> None:
        """Write the blueprint."""
        (self.directory / "blueprint.conf").write_text(_BLUEPRINT.format(source=self.source()))

    def rounds(self, each: int, kills: int) -> list[str]:
        """Return the kills."""
        return [KILL] * kills

    def play(self, round: str) -> tuple[bool, str]:
        """Kill once while it reads."""
        self.feed(_NEW // 2)
        with killed_at_end(self.start()) as run:
            before = self.batch("offsets")
            self.until(run, lambda: self.batch("offsets") > max(before, self.batch("commits")))
            self.feed(_NEW // 2)
            time.sleep(self.dice.uniform(0, 3))
            return True, f"{self.kill(run)} while it read, after batch {self.batch('commits')}"

    def settle(self) -> list[str]:
        """Run to the end, and compare."""
        with killed_at_end(self.start(bounded=True)) as run:
            code = run.wait(900)
        print(f"{self.fed} records, {len(self.rows('pages'))} in the topic; exit code {code}")
        return self.problems(ended=True) + (["the last run has failed"] if code else [])

    def feed(self, count: int) -> None:
        """Add records."""
        first = self.fed
        self.add(first, first + count)
        (self.directory / "fed").write_text(str(first + count))

    @property
    def fed(self) -> int:
        """The number of records so far."""
        file = self.directory / "fed"
        return int(file.read_text()) if file.exists() else 0

    def problems(self, *, ended: bool = False) -> list[str]:
        """Return what is wrong: records that appear twice, or, after the end, are missing."""
        wanted = Counter((number, f"text {number}") for number in range(self.fed))
        found = []
        for name, rows in (("the topic", self.rows("pages")), ("the egress", self.saved())):
            records = Counter((row["id"], row["text"]) for row in rows)
            doubled, lost = (records - wanted).total(), (wanted - records).total()
            found += [f"{doubled} records are doubled or unknown in {name}"] * bool(doubled)
            found += [f"{lost} records are missing in {name}"] * bool(lost and ended)
        return found


class SourceHttp(SourceServer):
    """Records of a server, page by page by a cursor, and only new ones; each tenth answer is an error or is cut."""

    def __init__(self, directory: Path, dice: random.Random) -> None:
        self._server = _Server(random.Random(dice.random()))
        super().__init__(directory, dice)
        self._server.count = self.fed
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.resources.callback(self._server.server_close)
        self.resources.callback(self._server.shutdown)

    def source(self) -> str:
        """Return the parameters of the source, whose port is the one of this call."""
        return f"""from = http
        options {{
          url = "http://127.0.0.1:{self._server.server_address[1]}/records", records = items
          paging = cursor, cursor = next, since-field = id, since-parameter = since
        }}"""

    def add(self, first: int, end: int) -> None:
        """Let the server have more records."""
        self._server.count = end


class _Server(ThreadingHTTPServer):
    """The server.

    Arguments:
        dice: decides which answers fail.

    Attributes:
        count: the number of its records.
    """

    daemon_threads = True

    def __init__(self, dice: random.Random) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.count, self.dice = 0, dice


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Answer with a page of records whose id is not less than `since`, from the cursor on."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        failure = self.server.dice.random()
        if failure < 0.05:
            self.send_response(503)
            self.send_header("Retry-After", "0")
            self.end_headers()
            return
        first = int(query.get("cursor", query.get("since", "0")))
        end = min(first + _PAGE, self.server.count)
        items = [{"id": number, "text": f"text {number}"} for number in range(first, end)]
        body = json.dumps({"items": items, "next": str(end) if end < self.server.count else None}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(body[: len(body) // 2] if failure < 0.1 else body)
        self.close_connection = True


class SourceJdbc(SourceServer):
    """Rows of a table of SQLite, by a column that grows."""

    def source(self) -> str:
        """Return the parameters of the source, and create the table."""
        with closing(sqlite3.connect(self.directory / "shop.db")) as connection, connection:
            connection.execute("CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY, text TEXT)")
        return 'from = jdbc, options { url = "sqlite:shop.db", table = records, column = id, rows = 7 }'

    def add(self, first: int, end: int) -> None:
        """Insert rows, some of which were inserted by a call that was killed."""
        with closing(sqlite3.connect(self.directory / "shop.db", timeout=60)) as connection, connection:
            rows = [(number, f"text {number}") for number in range(first, end)]
            connection.executemany("INSERT OR IGNORE INTO records VALUES (?, ?)", rows)
