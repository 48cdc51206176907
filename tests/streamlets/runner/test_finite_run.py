"""A finite pipeline in a continuous run: a spout, SQL and two sinks, one of which waits for the end of the SQL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
_PATIENCE = 300.0
_LETTERS = "for i in 1 2 3; do printf 'a%s\\nb%s\\n' $i $i | flow put out || exit; done"
_BLUEPRINT = """
blueprint {
  streamlets {
    letters {
      class = streamlets.Spout, outlets.out = "line string"
      parameters { codec = lines, cmd = [sh, letters.sh] }
    }
    upper {
      class = streamlets.Sql, inlets.lines = "line string", outlets.out = "line string"
      parameters.statements = "CREATE TEMPORARY VIEW up AS SELECT upper(line) line FROM lines; SAVE STREAM up TO out;"
    }
    early { class = streamlets.Sink, inlets.in = "line string", parameters { to = json, options.path = out/early } }
    later { class = streamlets.Sink, inlets.in = "line string", parameters { to = json, options.path = out/later } }
  }
  topics {
    lines { producers = [letters.out], consumers = [upper.lines] }
    uppers { producers = [upper.out], consumers = [early.in, later.in] }
  }
}
flow { application = finite, end = when-producers-end }
flow.streamlets.later.inlets.in { sequential = true, sync-open = true, open-timeout = 5 minutes }
"""


def _lines(directory: Path) -> list[str]:
    """Return the lines that a sink has written, sorted."""
    files = directory.glob("*.json")
    return sorted(json.loads(row)["line"] for file in files for row in file.read_text(encoding="utf-8").splitlines())


@pytest.mark.slow
@pytest.mark.spark
def test_a_finite_pipeline_ends_by_itself(tmp_path: Path) -> None:
    """All its streamlets complete, each sink has every record once, the sequential one began after its producer, and
    the exit code is 0."""
    (tmp_path / "blueprint.conf").write_text(_BLUEPRINT, encoding="utf-8")
    (tmp_path / "letters.sh").write_text(_LETTERS, encoding="utf-8")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    command = [sys.executable, "-m", "cli.main", "run", str(tmp_path), "--format", "json"]
    run = subprocess.run(
        command, env=os.environ | {"PATH": path, "PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True,
        timeout=_PATIENCE,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    events = [json.loads(line) for line in run.stdout.splitlines()]
    changes = [event for event in events if event["event"] == "unit-changed"]
    last = {change["streamlet"]: change["state"] for change in changes}
    assert last == dict.fromkeys(("letters", "upper", "early", "later"), "completed")
    places = {(change["streamlet"], change["state"]): place for place, change in enumerate(changes)}
    first_running = next(n for n, c in enumerate(changes) if (c["streamlet"], c["state"]) == ("later", "running"))
    assert places["upper", "completed"] < first_running
    assert any("waiting for the end of upper" in change["waiting"] for change in changes)
    expected = sorted(f"{letter}{number}" for letter in "AB" for number in (1, 2, 3))
    assert _lines(tmp_path / "out" / "early") == expected
    assert _lines(tmp_path / "out" / "later") == expected
