"""The page of a busy application: the cost of its server, and how soon a browser shows it: `python -m benchmarks.page`.

Two applications without Spark, whose runs are played: one of 50 streamlets that publishes 20 events a second, which
three browsers watch, and one of 100 streamlets, for the first paint. Each browser loses its connection again and again;
no event may be missing afterwards.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from blueprint.verification.verify import verify
from streamlets.project.catalog import ProjectCatalog
from streamlets.runner.deployment import store_descriptor
from streamlets.runner.events.history import EventHistory
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunStarted
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.status_file import StatusFile
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed
from streamlets.runner.state_directory.directory import StateDirectory

EVENTS_PER_SECOND = 20
_MODULE = """
from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, SparkStreamletLogic


class Copy(SparkStreamlet):
    rows = AvroInlet("in", schema="n long")
    out = AvroOutlet(schema="n long")

    class Logic(SparkStreamletLogic["Copy"]):
        def build_streaming_queries(self):
            return self.write_stream(self.read_stream(self.streamlet.rows), self.streamlet.out)
"""


class Played:
    """The state directory of an application, and events as its run would publish them."""

    def __init__(self, parent: Path, name: str, streamlets: int) -> None:
        directory = parent / name
        directory.mkdir(parents=True)
        (directory / "app.py").write_text(_MODULE)
        refs = [f"copy-{number}" for number in range(streamlets)]
        topics = [f"t{n} {{ producers = [{ref}.out]" for n, ref in enumerate(refs)]
        topics = [
            f"{topic}, consumers = [copy-{n + 1}.in] }}" if n % 10 < 9 else f"{topic} }}"
            for n, topic in enumerate(topics)
        ]
        sources = [f"s{n} {{ consumers = [copy-{n}.in], managed = false }}" for n in range(0, streamlets, 10)]
        classes = "\n".join(f"{ref} = app.Copy" for ref in refs)
        wiring = "\n".join((*topics, *sources))
        blueprint = directory / "blueprint.conf"
        blueprint.write_text(f"blueprint {{ streamlets {{ {classes} }}, topics {{ {wiring} }} }}\n")
        plan = verify(blueprint, catalog=ProjectCatalog(), environment={}, working_directory=directory).plan
        assert plan is not None
        self.state = StateDirectory(directory / ".flow", plan.name)
        self._lock = self.state.locked()
        self._lock.__enter__()
        store_descriptor(self.state, plan)
        self._events = Publisher((StatusFile(self.state.status_file), EventHistory(self.state.event_history)))
        self._units = [UnitId(ref, "out") for ref in refs]
        self._events.publish(RunStarted(time.time(), plan.name, tuple(refs)))
        for unit in self._units:
            self._events.publish(UnitChanged(time.time(), unit, "running"))
        self.published = 0

    def play(self, number: int) -> None:
        """Publish one event: a batch, and each twentieth time a change that the history keeps."""
        unit = self._units[number % len(self._units)]
        self._events.publish(UnitProgressed(time.time(), unit, number, 1000, {"out": 1000}, seconds=0.4))
        if number % EVENTS_PER_SECOND == 0:
            self._events.publish(UnitChanged(time.time(), unit, "running", f"event {number}"))
            self.published += 1

    def end(self) -> None:
        """Release the state directory."""
        self._lock.__exit__(None, None, None)


def main() -> None:
    """Play, watch and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long three browsers watch")
    parser.add_argument("--reconnections", type=int, default=20, help="how often each loses its connection")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        busy, large = Played(Path(directory), "busy", 50), Played(Path(directory), "large", 100)
        server = _server(Path(directory))
        try:
            problems = _watch(busy, server, arguments.seconds, arguments.reconnections)
            _paint(server)
        finally:
            server.process.terminate()
            server.process.communicate()
            busy.end()
            large.end()
    print("\n".join(problems) or f"no event was missing ({busy.published} events, 3 browsers)")
    raise SystemExit(bool(problems))


class _Server:
    def __init__(self, process: subprocess.Popen[str], address: str, entrance: str) -> None:
        self.process, self.address, self.entrance = process, address, entrance


def _server(directory: Path) -> _Server:
    command = [sys.executable, "-m", "streamlets", "ui", str(directory), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"HOME": str(directory)})
    assert process.stdout is not None
    found = re.search(r"(http://\S+)/\?token=\S+", process.stdout.readline())
    assert found is not None
    return _Server(process, found[1], found[0])


def _browser(kit: Any) -> Any:
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("error: there is no Chromium; `.ci/browser` installs it")
    return kit.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])


def _watch(busy: Played, server: _Server, seconds: float, reconnections: int) -> list[str]:
    """Let three browsers watch, and return what they have missed; print what it has cost."""
    from playwright.sync_api import sync_playwright

    over = threading.Event()

    def play() -> None:
        number = 0
        while not over.wait(1 / EVENTS_PER_SECOND):
            busy.play(number)
            number += 1

    with sync_playwright() as kit:
        browser = _browser(kit)
        contexts = [browser.new_context() for _ in range(3)]
        tabs = [context.new_page() for context in contexts]
        for tab in tabs:
            tab.goto(server.entrance)
            tab.goto(f"{server.address}/busy/events")
            tab.wait_for_selector("#connection:text-is('live')")
        player = threading.Thread(target=play)
        player.start()
        process = psutil.Process(server.process.pid)
        spent, begun, heap = _processor(process), time.monotonic(), _heap(contexts[0], tabs[0])
        for _ in range(max(1, reconnections)):
            tabs[0].wait_for_timeout(1000 * seconds / max(1, reconnections) - 500)
            for context in contexts if reconnections else ():
                context.set_offline(True)
            tabs[0].wait_for_timeout(500)
            for context in contexts:
                context.set_offline(False)
        share = (_processor(process) - spent) / (time.monotonic() - begun)
        memory = process.memory_info().rss / 2**20
        over.set()
        player.join()
        for tab in tabs:
            tab.wait_for_selector("#connection:text-is('live')")
        tabs[0].wait_for_timeout(5000)
        shown = [set(re.findall(r"event \d+\b", tab.inner_text("main"))) for tab in tabs]
        after = _heap(contexts[0], tabs[0])
        browser.close()
    print(f"server: {100 * share:.1f} % of a core, {memory:.0f} MiB; browser: {heap:.1f} to {after:.1f} MiB of objects")
    expected = {f"event {EVENTS_PER_SECOND * number}" for number in range(busy.published)}
    latest = {f"event {EVENTS_PER_SECOND * number}" for number in range(max(0, busy.published - 400), busy.published)}
    return [
        f"browser {number}: {len(latest - seen)} events are missing, {len(seen - expected)} are not the run's"
        for number, seen in enumerate(shown)
        if not latest <= seen <= expected
    ]


def _processor(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _heap(context: Any, tab: Any) -> float:
    """Return the MiB of JavaScript's objects of a page, after a collection."""
    session = context.new_cdp_session(tab)
    session.send("HeapProfiler.collectGarbage")
    return float(session.send("Runtime.getHeapUsage")["usedSize"]) / 2**20


def _paint(server: _Server) -> None:
    """Print when a browser has painted the page of 100 streamlets, and how much it has loaded."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as kit:
        browser = _browser(kit)
        times, graphs, sizes = [], [], []
        for _ in range(5):
            tab = browser.new_context().new_page()
            loaded: list[int] = []
            tab.on("requestfinished", lambda request, loaded=loaded: loaded.append(request.sizes()["responseBodySize"]))
            tab.goto(server.entrance)
            loaded.clear()
            tab.goto(f"{server.address}/large")
            tab.wait_for_selector("a[data-name='copy-99']", state="attached")
            graphs.append(tab.evaluate("performance.now()"))
            times.append(tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"))
            sizes.append(sum(loaded))
            tab.context.close()
        browser.close()
    print(
        f"100 streamlets: first paint after {sorted(times)[2]:.0f} ms, graph after {sorted(graphs)[2]:.0f} ms "
        f"(median of 5), {max(sizes) / 1000:.0f} kB"
    )


if __name__ == "__main__":
    main()
