"""The growth of verification time with the blueprint, and the parts of a cold `flow verify`.

    python -m benchmarks.verify_scale [--small]

10 to 10,000 streamlets in four shapes: a *chain*; a *fan*, one topic with one writer and all others as readers; a
*bus*, one topic that half of the streamlets write and the other half read; *dense*, each streamlet reads three random
topics, so that nearly all are in one strongly connected component, which is reported. Each blueprint is verified in a
separate process, from the file to the findings and the plan, including the import of streamlets. The time is the CPU
time of that process, the memory its maximum.

The bars: 10,000 streamlets in at most 3 s, growth from 1,000 no worse than n log n; a cold `flow verify
examples/flights`, including imports, at most 0.5 s of CPU time. The exit code is 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
SIZES = (10, 100, 1_000, 10_000)
MOST_SECONDS = 3.0
MOST_COLD = 0.5
NOISE = 1.3
"""By how much a growth may exceed n log n before it counts: caches get smaller, and others share the machine."""

MODULE = """\
from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, SparkStreamletLogic

READING = "station string, celsius double, at timestamp"


class Nothing(SparkStreamletLogic):
    def build_streaming_queries(self):
        return []


class Source(SparkStreamlet):
    out = AvroOutlet(schema=READING)
    Logic = Nothing


class Step(SparkStreamlet):
    records = AvroInlet("in", schema=READING)
    out = AvroOutlet(schema=READING)
    Logic = Nothing


class Random(SparkStreamlet):
    a = AvroInlet(schema=READING)
    b = AvroInlet(schema=READING)
    c = AvroInlet(schema=READING)
    out = AvroOutlet(schema=READING)
    Logic = Nothing


class Sink(SparkStreamlet):
    records = AvroInlet("in", schema=READING)
    Logic = Nothing
"""


def blueprint(streamlets: dict[str, str], topics: dict[str, tuple[list[str], list[str]]]) -> str:
    """Return the text of a blueprint from classes by streamlet, and producers and consumers by topic."""
    lines = ["blueprint {", "  streamlets {"]
    lines += [f"    {ref} = big.{name}" for ref, name in streamlets.items()]
    lines += ["  }", "  topics {"]
    for id, (producers, consumers) in topics.items():
        lines.append(f"    {id} {{ producers = [{', '.join(producers)}], consumers = [{', '.join(consumers)}] }}")
    return "\n".join([*lines, "  }", "}", ""])


def chain(count: int) -> str:
    """Each streamlet reads the output of the previous one."""
    streamlets = {f"s{at}": "Step" for at in range(count)} | {"s0": "Source", f"s{count - 1}": "Sink"}
    return blueprint(streamlets, {f"t{at}": ([f"s{at}.out"], [f"s{at + 1}.in"]) for at in range(count - 1)})


def fan(count: int) -> str:
    """One streamlet writes a topic, all others read it."""
    streamlets = {"source": "Source"} | {f"s{at}": "Sink" for at in range(count - 1)}
    return blueprint(streamlets, {"all": (["source.out"], [f"s{at}.in" for at in range(count - 1)])})


def bus(count: int) -> str:
    """Half of the streamlets write a topic that the other half reads."""
    half = count // 2
    streamlets = {f"w{at}": "Source" for at in range(half)} | {f"r{at}": "Sink" for at in range(half)}
    return blueprint(streamlets, {"all": ([f"w{at}.out" for at in range(half)], [f"r{at}.in" for at in range(half)])})


def dense(count: int) -> str:
    """Each streamlet reads three random topics, and writes one."""
    chance = random.Random(count)
    readers: list[list[str]] = [[] for _ in range(count)]
    for at in range(count):
        for port in "abc":
            readers[chance.randrange(count)].append(f"s{at}.{port}")
    topics = {f"t{at}": ([f"s{at}.out"], reading) for at, reading in enumerate(readers)}
    return blueprint({f"s{at}": "Random" for at in range(count)}, topics)


SHAPES = {"chain": chain, "fan": fan, "bus": bus, "dense": dense}

MEASURE = """\
import json, resource, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from blueprint.verification.verify import verify
from streamlets.project.catalog import ProjectCatalog
import streamlets
start = time.process_time()
verification = verify("blueprint.conf", catalog=ProjectCatalog(), environment={}, working_directory=Path.cwd())
took = time.process_time() - start
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
codes = sorted({finding.code for finding in verification.diagnostics if finding.severity == "error"})
print(json.dumps([took, memory, codes, verification.checked.streamlets, verification.checked.pairs]))
"""


def measured(directory: Path) -> tuple[float, int, list[str], int, int]:
    """Verify in a separate process; return seconds, maximum memory in KiB, error codes, streamlets and pairs."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(REPOSITORY)], cwd=directory, capture_output=True, text=True, check=True
    )
    took, memory, codes, streamlets, pairs = json.loads(done.stdout)
    return took, memory, codes, streamlets, pairs


def grow(rounds: int) -> bool:
    """Print a row for each shape and size; return whether the bars are met."""
    met = True
    print(f"{'shape':8}{'streamlets':>12}{'pairs':>12}{'best CPU':>12}{'memory':>10}{'/ n log n':>12}  errors")
    for name, text in SHAPES.items():
        before = None
        for count in SIZES:
            with tempfile.TemporaryDirectory(prefix="flow-bench-") as directory:
                Path(directory, "big.py").write_text(MODULE)
                Path(directory, "blueprint.conf").write_text(text(count))
                runs = [measured(Path(directory)) for _ in range(rounds)]
            took, memory, codes, streamlets, pairs = min(runs)
            assert streamlets == count, f"{streamlets} of {count} streamlets were read"
            assert codes == (["cycle"] if name == "dense" else []), codes
            grown = ""
            if before is not None and count == SIZES[-1]:
                factor = took / before / (count * math.log(count) / (SIZES[-2] * math.log(SIZES[-2])))
                grown = f"{factor:.2f}"
                met &= factor <= NOISE and took <= MOST_SECONDS
            row = f"{name:8}{count:>12,}{pairs:>12,}{took:>10.3f} s{memory / 1024:>6.0f} MiB{grown:>12}"
            print(f"{row}  {', '.join(codes)}", flush=True)
            before = took
    return met


def cold() -> bool:
    """Print the CPU time of the parts of a cold `flow verify examples/flights`; return whether the bar is met."""
    flow = [str(Path(sys.executable).parent / "flow"), "verify", "examples/flights"]
    best = min(_spent(flow) for _ in range(7))
    bare = min(_spent([sys.executable, "-c", "pass"]) for _ in range(7))
    imports = min(_spent([sys.executable, "-c", IMPORTS]) for _ in range(7))
    stages = json.loads(subprocess.run(
        [sys.executable, "-c", STAGES], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout)  # fmt: skip
    print(f"\ncold `flow verify examples/flights`: {best:.2f} s of CPU time (bar: {MOST_COLD})")
    rows = {"starting Python": bare, "importing our code and click": imports - bare, **stages}
    for what, seconds in rows.items():
        print(f"  {seconds:6.3f} s  {what}")
    print(f"  {best - sum(rows.values()):6.3f} s  rendering and everything else")
    return best <= MOST_COLD


MODULES = (
    "cli.main", "cli.commands.verify", "cli.application", "blueprint.verification.verify", "streamlets.project.catalog",
    "blueprint.diagnostics.renderers",
)  # fmt: skip
IMPORTS = f"import {', '.join(MODULES)}"

STAGES = f"""\
{IMPORTS}
import json, time
from pathlib import Path

spent = {{}}


def timed(name, function):
    def run(*args):
        start = time.process_time()
        try:
            return function(*args)
        finally:
            spent[name] = spent.get(name, 0) + time.process_time() - start

    return run


at = blueprint.verification.verify
reading = "reading the blueprint"
at.read_layers, at.resolve, at.load = (timed(reading, function) for function in (at.read_layers, at.resolve, at.load))
at.describe = timed("importing and describing streamlets and schemas", at.describe)
at.RULES = tuple(timed("rules", lambda draft, rule=rule: list(rule(draft))) for rule in at.RULES)
at.make_plan = timed("making the plan", at.make_plan)
at.verify(
    "examples/flights/blueprint.conf", catalog=streamlets.project.catalog.ProjectCatalog(), environment={{}},
    working_directory=Path.cwd(),
)
print(json.dumps(spent))
"""


def _spent(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="one round instead of three")
    met = grow(1 if parser.parse_args().small else 3)
    met &= cold()
    if not met:
        sys.exit("a bar is missed")


if __name__ == "__main__":
    main()
