"""The cost of the history of events in a run with Spark: its share of the run's processor time.

The example `sensors` runs with a batch in each second and query. The time in the history is taken in its thread, so
that it does not depend on what else the machine does.

    python -m benchmarks.event_history --seconds 120
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
BAR = 0.01
"""The share of the run's processor time that the page may cost it."""

_PROGRAM = """
import atexit, json, sys, time
from pathlib import Path
from streamlets.runner.events.history import EventHistory

seconds, events, write = 0.0, 0, EventHistory.event

def timed(history, event, status):
    global seconds, events
    begun = time.thread_time()
    write(history, event, status)
    seconds, events = seconds + time.thread_time() - begun, events + 1

EventHistory.event = timed
figures = Path(sys.argv.pop(1))
atexit.register(lambda: figures.write_text(json.dumps({"seconds": seconds, "events": events})))
from cli.main import main
main(sys.argv[1:])
"""


def main() -> None:
    """Run, and print the share."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long the run takes after its first batch")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        state, figures = Path(directory) / "state", Path(directory) / "figures.json"
        settings = ['flow.trigger={processing-time="1 second"}']
        arguments = ["run", "examples/sensors", "--state-dir", str(state), *settings]
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(figures), *arguments], cwd=REPOSITORY, env=environment,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        while not any(state.glob("*/checkpoints/*/*/commits/0")) and process.poll() is None:
            time.sleep(1.0)
        time.sleep(options.seconds)
        process.send_signal(signal.SIGINT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"the run has failed with exit code {process.returncode}")
        spent = json.loads(figures.read_text())
        size = sum(file.stat().st_size for file in state.glob("*/logs/events.jsonl*"))
    share = spent["seconds"] / (usage.ru_utime + usage.ru_stime)
    each = spent["seconds"] / spent["events"] * 1e6
    print(f"{spent['events']} events, {each:.0f} us of processor time each, {size / 1024:.0f} KiB of history:")
    print(f"{share:.3%} of the processor time of the run (bar: {BAR:.0%})")
    raise SystemExit(share > BAR)


if __name__ == "__main__":
    main()
