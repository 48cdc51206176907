"""`streamlets.Source` over files that arrive late, are rewritten, are empty, or have broken lines.

Each round writes files before and while the application runs, and kills it with `kill -9` while it reads. At the end
each record of the last version of a file must be in the topic and in the egress once, and each broken line of it must
be a dead letter once. An earlier version must be there completely or not at all, because it may have been replaced
before it was read.
"""

from __future__ import annotations

import gzip
import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import ClassVar

from benchmarks.kills.batch_source import BatchSource
from benchmarks.kills.harness import KILL
from benchmarks.processes import killed_at_end
from streamlets.channels.dead_letters import dead_letter_contract

_NEW, _REWRITTEN = 24, 6
"""The files of a round."""

_RECORDS = 10
_BLUEPRINT = """
blueprint {
  streamlets {
    pages {
      class = streamlets.Source
      outlets.out = "file int NOT NULL, version int NOT NULL, part int NOT NULL, line int"
      parameters {
        from = csv
        options { path = data, line-column = line, settle = 300ms }
        discovery.config.interval = 500ms
        max-tasks-per-batch = 8
        task-retry-delay = 50ms
      }
    }
    archive {
      class = streamlets.Sink
      inlets.in = "file int, version int, part int, line int"
      parameters { to = parquet, options.path = out }
    }
  }
  topics { pages { producers = [pages.out], consumers = [archive.in] } }
}
flow.application = kills
"""


class SourceFiles(BatchSource):
    """The application in a directory. `written.json` there has the number of versions of each file."""

    points: ClassVar[tuple[str, ...]] = ()
    each, kills = 0, 12

    def write_application(self) -> None:
        """Write the blueprint."""
        (self.directory / "blueprint.conf").write_text(_BLUEPRINT)
        (self.directory / "data").mkdir(exist_ok=True)

    def rounds(self, each: int, kills: int) -> list[str]:
        """Return the kills."""
        return [KILL] * kills

    def play(self, round: str) -> tuple[bool, str]:
        """Kill once while it reads."""
        self.feed(_NEW // 2, _REWRITTEN // 2)
        with killed_at_end(self.start()) as run:
            before = self.batch("offsets")
            self.until(run, lambda: self.batch("offsets") > max(before, self.batch("commits")))
            self.feed(_NEW // 2, _REWRITTEN // 2)
            time.sleep(self.dice.uniform(0, 3))
            return True, f"{self.kill(run)} while it read, after batch {self.batch('commits')}"

    def settle(self) -> list[str]:
        """Run to the end, and compare."""
        with killed_at_end(self.start(bounded=True)) as run:
            code = run.wait(900)
        versions = self.written()
        print(f"{len(versions)} files in {sum(versions)} versions; {len(self.rows('pages'))} records; exit code {code}")
        return self.problems(ended=True) + (["the last run has failed"] if code else [])

    def feed(self, new: int, rewritten: int) -> None:
        """Write new files, and other versions of earlier ones."""
        versions = self.written()
        earlier = self.dice.sample(range(len(versions)), min(rewritten, len(versions)))
        for file in earlier:
            versions[file] += 1
        versions += [1] * new
        (self.directory / "written.json").write_text(json.dumps(versions))
        for file in (*earlier, *range(len(versions) - new, len(versions))):
            self._write(file, versions[file])

    def written(self) -> list[int]:
        """Return the number of versions of each file."""
        file = self.directory / "written.json"
        versions: list[int] = json.loads(file.read_text()) if file.exists() else []
        return versions

    def problems(self, *, ended: bool = False) -> list[str]:
        """Return what is wrong: records and dead letters that appear twice, or, after the end, are missing."""
        contents: dict[str, Counter[tuple[object, ...]]] = {
            "the topic": Counter((row["file"], row["version"], row["part"]) for row in self.rows("pages")),
            "the egress": Counter((row["file"], row["version"], row["part"]) for row in self.saved()),
            "the dead letters": Counter(
                tuple(json.loads(row["record"])[name] for name in ("file", "version", "part"))
                for row in self.rows("dead-letters.pages", dead_letter_contract())
                if row["record"].startswith('{"file"')
            ),
        }
        found = []
        for name, records in contents.items():
            part = _broken if name == "the dead letters" else _parts
            last, known = Counter[tuple[object, ...]](), Counter[tuple[object, ...]]()
            for file, versions in enumerate(self.written()):
                last.update(part(file, versions))
                for version in range(1, versions + 1):
                    wanted = set(part(file, version))
                    known.update(wanted)
                    if ended and wanted & records.keys() not in (set(), wanted):
                        found.append(f"{name} has a part of version {version} of file {file}")
            doubled, lost = (records - known).total(), (last - records).total()
            found += [f"{doubled} records are doubled or unknown in {name}"] * bool(doubled)
            found += [f"{lost} records are missing in {name}"] * bool(lost and ended)
        return found

    def _write(self, file: int, version: int) -> None:
        lines = [",".join(map(str, parts)) for parts in (*_parts(file, version), *_broken(file, version))]
        content = "file,version,part\n" + "".join(f"{line}\n" for line in lines) if lines else ""
        zipped = file % 5 == 0 and bool(content)
        path = self.directory / "data" / (f"{file:04}.csv.gz" if file % 5 == 0 else f"{file:04}.csv")
        draft = path.with_name(f".{path.name}")
        draft.write_bytes(gzip.compress(content.encode()) if zipped else content.encode())
        if file % 3 == 0:  # it arrives late: it is older than what was read
            os.utime(draft, (1_000_000_000 + file, 1_000_000_000 + file + version))
        if file % 2:
            draft.replace(path)
        else:  # as a program that does not rename its files
            Path(path).write_bytes(draft.read_bytes())
            os.utime(path, (draft.stat().st_atime, draft.stat().st_mtime))
            draft.unlink()


def _parts(file: int, version: int) -> list[tuple[object, ...]]:
    """Return the records of a version; every seventh file is empty at first."""
    return [] if file % 7 == 3 and version == 1 else [(file, version, part) for part in range(_RECORDS)]


def _broken(file: int, version: int) -> list[tuple[object, ...]]:
    """Return the broken lines of a version, as they are in the dead letters."""
    return [(str(file), str(version), "many")] if file % 4 == 1 and _parts(file, version) else []
