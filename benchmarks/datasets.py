"""How fast records are exported and compared, and how much memory that takes: `python -m benchmarks.datasets`.

A topic of records of four columns is exported in each format, and compared with each file and with another topic.
Memory is the peak of each process, beside that of a process that exports no record.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from streamlets.datasets.formats import FORMATS

_SCHEMA = (
    '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}, {"name": "source", "type": "string"}, '
    '{"name": "value", "type": "double"}, {"name": "flag", "type": ["null", "boolean"]}]}'
)
_AT_ONCE = 50_000


def topics(state: Path, records: int) -> None:
    """Write two topics with the same records in another order."""
    import pyarrow as pa

    from blueprint.avro.sources.loading import parse_contract
    from blueprint.plan import TopicPlan
    from streamlets.channels.delta.channel import DeltaChannel
    from streamlets.testkit.channels import append

    contract = parse_contract(_SCHEMA)
    channel = DeltaChannel(state / "app" / "topics")
    for name, step in (("first", 1), ("second", -1)):
        topic = channel.topic(TopicPlan(name, name, "delta", True, (), (), {}))
        topic.create([contract])
        for number, begin in enumerate(range(0, records, _AT_ONCE)):
            ids = [id if step > 0 else records - 1 - id for id in range(begin, min(records, begin + _AT_ONCE))]
            columns = [ids, [f"s{id % 50}" for id in ids], [id * 0.1 for id in ids], [id % 2 == 0 for id in ids]]
            rows = pa.RecordBatch.from_arrays(
                [pa.array(values) for values in columns], ["id", "source", "value", "flag"]
            )
            append(topic, [rows], contract, number, writer="source/out")


def measured(name: str, records: int, *arguments: str) -> None:
    """Call a command, and print its rate and memory."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    begun = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "cli.main", *arguments, "--format", "json"], env=environment, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    took, used = time.monotonic() - begun, usage.ru_utime + usage.ru_stime
    if process.returncode:
        raise SystemExit(f"flow {' '.join(arguments)} has failed with exit code {process.returncode}")
    rate = f"{records / used:,.0f} records for a second of processor time" if records else f"{used:.2f} s"
    print(f"{name:24} {rate}, {took:.1f} s, {usage.ru_maxrss / 1024:.0f} MiB", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as directory:
        state = Path(directory).resolve()
        writing = multiprocessing.get_context("spawn").Process(target=topics, args=(state, options.records))
        writing.start()  # in a process of its own: the peak of a child begins with the memory of its parent
        writing.join()
        own = ("--state-dir", str(state))
        print(f"{options.records:,} records, load {os.getloadavg()[0]:.0f}")
        measured("export nothing", 0, "export", "first", "--to", str(state / "none.jsonl"), "--since", "0s", *own)
        for form in FORMATS.values():
            measured(
                f"export {form.name}",
                options.records,
                "export",
                "first",
                "--to",
                str(state / f"file{form.suffix}"),
                *own,
            )
        measured("diff with a topic", 2 * options.records, "diff", "first", "second", "--by", "id", *own)
        for form in FORMATS.values():
            measured(
                f"diff with {form.name}",
                2 * options.records,
                "diff",
                "first",
                str(state / f"file{form.suffix}"),
                "--by",
                "id",
                *own,
            )


if __name__ == "__main__":
    main()
