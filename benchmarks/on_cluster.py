"""The flights and the shop on a standalone cluster, with topics on a shared directory: the same results as locally.

    python -m benchmarks.on_cluster [flights] [shop] [--workers N] [--january]

Each application runs to the end on this machine and on a cluster of one master and workers of one core each, which
authenticate each other and encrypt what they send. The files of the flights must have the same rows, and so must all
topics and the files of the shop. `--january` takes the flights of January only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.flights import APPLICATION, DAYS, SINKS, january, results
from benchmarks.flights import check as require_equal
from benchmarks.kills.ledger import FLOW, REPOSITORY, differences
from benchmarks.kills.shop import ShopLedger
from tests.cluster.standalone import Cluster

ORDERS = 20
"""The hundreds of orders of the shop."""


def main() -> None:
    """Run the applications on both, and print what was compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("applications", nargs="*", metavar="flights|shop")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--january", action="store_true")
    options = parser.parse_args()
    cases = {"flights": lambda root, cluster: flights(root, cluster, small=options.january), "shop": shop}
    with tempfile.TemporaryDirectory(prefix="on-cluster-") as name:
        root = Path(name)
        with Cluster(root / "cluster", workers=options.workers, memory="1g", secured=True) as cluster:
            os.environ.update(cluster.environment)
            for application in options.applications or cases:
                print(f"{application}: {cases[application](root / application, cluster)}", flush=True)


def flights(root: Path, cluster: Cluster, *, small: bool) -> str:
    """Run the flights on both; return the rows that were compared.

    Arguments:
        root: a new directory.
        cluster: the cluster.
        small: whether only the flights of January are processed.

    Raises:
        RuntimeError: a run has failed.
        AssertionError: the rows differ.
    """
    data = january(root / "data") if small else None
    local = run_flights(root / "local", data, ())
    distributed = run_flights(root / "cluster", data, on_cluster(root / "cluster.conf", cluster, modules(data)))
    found = results(root / "cluster")
    require_equal(results(root / "local"), found)
    rows = ", ".join(f"{len(table):,} {sink}" for sink, table in found.items())
    return f"the same rows ({rows}); {local:.0f} s on this machine, {distributed:.0f} s on the cluster"


def run_flights(root: Path, data: Path | None, options: tuple[str, ...]) -> float:
    """Run the flights to the end; return the seconds.

    Arguments:
        root: the directory of their state and their files.
        data: a directory with a package of other data.
        options: further options of the run.

    Raises:
        RuntimeError: the run has failed.
    """
    settings = {f"{sink}.parameters.options.path": str(root / sink) for sink in SINKS}
    settings |= {f"{ref}.parameters.days": str(days) for ref, days in DAYS.items()}
    command = [
        *FLOW, "run", str(APPLICATION), "--available-now", "--format", "lines", "--state-dir", str(root / "state"),
        *options, *(f"flow.streamlets.{key}={value}" for key, value in settings.items()),
    ]  # fmt: skip
    began = time.monotonic()
    ended = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": modules(data)}, cwd=REPOSITORY, capture_output=True, text=True
    )
    if ended.returncode != 0:
        raise RuntimeError(f"the flights have failed with exit code {ended.returncode}:\n{ended.stdout[-3000:]}")
    return time.monotonic() - began


def shop(root: Path, cluster: Cluster) -> str:
    """Run the shop on both; return the records that were compared.

    Raises:
        RuntimeError: a run has failed, or records differ.
    """
    path = os.pathsep.join(map(str, (REPOSITORY, ShopLedger.modules)))
    records = []
    for name, options in (("local", ()), ("cluster", on_cluster(root.with_suffix(".conf"), cluster, path))):
        with ShopLedger(root / name, options=options) as ledger:
            ledger.feed(ORDERS)
            ledger.require_success(ledger.run())
            records.append(ledger.records())
    wrong = {name: counts for name, counts in differences(records[1], records[0]).items() if any(counts)}
    if wrong:
        raise RuntimeError(f"lost and doubled records: {wrong}")
    return "the same records (" + ", ".join(f"{rows.total():,} {name}" for name, rows in records[1].items()) + ")"


def modules(data: Path | None) -> str:
    """Return the path of the modules of the flights, and of other data before them."""
    return os.pathsep.join(str(place) for place in (data, REPOSITORY, APPLICATION) if place)


def on_cluster(
    conf: Path, cluster: Cluster, python_path: str, more: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Return the options of a run on a cluster.

    Arguments:
        conf: a file for the settings, which have the secret.
        cluster: the cluster.
        python_path: where executors find modules.
        more: further settings of Spark.
    """
    conf.parent.mkdir(parents=True, exist_ok=True)
    settings = {
        "spark.executor.memory": "900m", "spark.executor.cores": "1", "spark.executorEnv.PYTHONPATH": python_path,
    }  # fmt: skip
    return ("--master", cluster.url, "--conf", str(cluster.conf(conf, settings | dict(more or {}))))


if __name__ == "__main__":
    main()
