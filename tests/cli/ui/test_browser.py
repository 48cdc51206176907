"""The page in a real browser, Debian's Chromium: what people see, click and hear about."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamlets.runner.deployment import store_descriptor
from streamlets.runner.events.history import EventHistory
from streamlets.runner.events.log import RunLog
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunStarted, StreamletScaled
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.status_file import StatusFile
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed
from streamlets.runner.samples.batches import BatchRing
from streamlets.runner.state_directory.control import Control, Request
from tests.cli.ui.conftest import grouped
from tests.crossings.applications import KINDS, plan_of, state_of, stopped, write

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
AXE = Path(sys.prefix) / "axe-core" / "axe.min.js"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium, which `.ci/browser` installs"),
]

UNIT = UnitId("double", "out")


class FakeRun:
    """A run without Spark: it holds the lock, writes its status and its events, and answers requests."""

    def __init__(self, blueprint: Path, *units: UnitId) -> None:
        self.state = state_of(blueprint)
        stopped(blueprint)
        self._lock = self.state.locked()
        self._lock.__enter__()
        self.status = StatusFile(self.state.status_file)
        self.events = Publisher((self.status, EventHistory(self.state.event_history)))
        units = units or (UnitId("feed", ""), UnitId("pages", "read"), UNIT)
        self.events.publish(RunStarted(time.time(), plan_of(blueprint).name, tuple(unit.streamlet for unit in units)))
        for unit in units:
            self.events.publish(UnitChanged(time.time(), unit, "running"))
        self.requests: list[Request] = []
        self.control = Control(self.state, self._take)

    def _take(self, request: Request) -> None:
        self.requests.append(request)
        states = {"pause": "paused", "resume": "running", "restart": "running"}
        if request.command in states:
            self.change(states[request.command], request.cause)
        self.control.answer(request.id)

    def change(self, state: Any, cause: str = "", **more: Any) -> None:
        """Let the streamlet enter a state."""
        self.events.publish(UnitChanged(time.time(), UNIT, state, cause, **more))

    def progress(self, batch: int) -> None:
        """Let the streamlet finish a batch."""
        phases = {"planning": 0.1, "executing": 0.4}
        self.events.publish(UnitProgressed(time.time(), UNIT, batch, 100, {"out": 100}, seconds=0.5, phases=phases))
        self.status.write(time.time())  # as a run does every few seconds

    def end(self) -> None:
        """End as a killed process does."""
        self.control.close()
        self._lock.__exit__(None, None, None)


class Server:
    """`flow ui` in a process of its own."""

    def __init__(self, path: Path, home: Path, *options: str) -> None:
        self.path, self.home, self.port, self.options = path, home, 0, options
        self.start()

    def start(self) -> None:
        """Start, on the port of before."""
        environment = os.environ | {"HOME": str(self.home)}
        command = [sys.executable, "-m", "streamlets", "ui", str(self.path), "--port", str(self.port)]
        command += self.options
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        assert self.process.stdout is not None
        found = re.search(r"(http://[\d.]+:(\d+))/\?token=\S+", self.process.stdout.readline())
        assert found
        self.address, self.entrance, self.port = found[1], found[0], int(found[2])

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.communicate(timeout=60)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeRun]:
    run = FakeRun(write(KINDS["mixed"], tmp_path_factory.mktemp("browser") / "plant"))
    yield run
    run.end()


@pytest.fixture(scope="module")
def server(run: FakeRun, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(run.state.root.parent, tmp_path_factory.mktemp("home"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as kit:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
        browser = kit.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()


class Visit:
    """A window that has opened the printed address, with what its console has said."""

    def __init__(self, browser: Any, server: Server, width: int = 1400, theme: str = "light") -> None:
        self.server = server
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.errors: list[str] = []
        self.page.on(
            "console",
            lambda message: self.errors.append(message.text) if message.type in ("error", "warning") else None,
        )
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(server.entrance)

    def open(self, path: str) -> Any:
        """Open an address, and wait until the page shows live data."""
        self.page.goto(f"{self.server.address}{path}")
        self.page.wait_for_selector("#connection:text-is('live')")
        self.page.wait_for_selector("main h1")
        return self.page


@pytest.fixture
def visit(browser: Any, server: Server) -> Iterator[Visit]:
    visit = Visit(browser, server)
    yield visit
    visit.context.close()


PAGES = (
    "/plant", "/plant/streamlets/double", "/plant/topics", "/plant/topics/rows", "/plant/dead-letters", "/plant/events",
    "/plant/changes",    "/plant/findings", "/plant/logs",
)  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_each_page_loads_without_an_error(visit: Visit, path: str) -> None:
    """No error and no warning in the console; the title names the page; nothing is wider than a telephone."""
    page = visit.open(path)
    assert page.title() != "Streamlets"
    page.wait_for_selector("main p:text-is('Loading ...'), main p:text-is('Verifying ...')", state="detached")
    assert visit.errors == []
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_what_happens_is_shown_without_a_reload(visit: Visit, run: FakeRun) -> None:
    """A failure with its cause and the author's frame; then the recovery. The document is the same one."""
    page = visit.open("/plant")
    page.evaluate("window.same = true")
    run.change("backing-off", "ValueError: <b>seven</b>", frames=("app.py:7 in double",), retry_in=30.0)
    page.wait_for_selector("text=ValueError: <b>seven</b>")
    assert page.locator("main b", has_text="seven").count() == 0  # text stays text
    page.click("main a:text-is('double')")
    page.wait_for_selector("text=at app.py:7 in double")
    run.change("running")
    run.progress(1)
    page.wait_for_selector("main .state:text('running')")
    page.wait_for_selector("svg.bars")
    assert page.evaluate("window.same") is True


def test_the_log_of_a_streamlet_follows_what_is_written(visit: Visit, run: FakeRun) -> None:
    """It is read when it is opened, and again while it is open; text stays text."""
    log = RunLog(run.state.logs / "run.log")
    try:
        log.failure(UNIT, "ValueError: <b>first</b>")
        page = visit.open(f"/plant/streamlets/{UNIT.streamlet}")
        page.click("text=The records about this streamlet")
        page.wait_for_selector("pre:has-text('ValueError: <b>first</b>')")
        log.failure(UNIT, "ValueError: second")
        log.failure(UnitId("feed", ""), "ValueError: of another")
        page.wait_for_selector("pre:has-text('ValueError: second')")
        assert page.locator("pre:has-text('of another')").count() == 0
        assert visit.errors == []
    finally:
        log.close()


def test_an_action_asks_first_and_takes_the_way_of_the_command(visit: Visit, run: FakeRun) -> None:
    """Cancelled, it does nothing; confirmed, the runner is asked, and the page shows the new state."""
    page = visit.open("/plant/streamlets/double")
    before = len(run.requests)
    page.click("button:text-is('Pause')")
    page.click("dialog button:text-is('Cancel')")
    assert len(run.requests) == before
    page.click("button:text-is('Pause')")
    assert "flow pause double" in page.inner_text("dialog")
    page.click("dialog button:text-is('Pause')")
    page.wait_for_selector("main button:text-is('Resume')")
    assert (run.requests[-1].command, run.requests[-1].streamlet) == ("pause", "double")
    page.click("button:text-is('Resume')")
    page.click("dialog button:text-is('Resume')")
    page.wait_for_selector("main button:text-is('Pause')")


def test_a_restart_of_the_server_loses_nothing(visit: Visit, server: Server, run: FakeRun) -> None:
    """An open page connects again by itself, without a new token, and shows what happened in between."""
    page = visit.open("/plant")
    page.evaluate("window.same = true")
    server.stop()
    try:
        page.wait_for_selector("#connection:text-is('connecting ...')")
        run.change("backing-off", "KeyError: 'while it was away'", retry_in=30.0)
    finally:
        server.start()
    page.wait_for_selector("#connection:text-is('live')")
    page.wait_for_selector("text=KeyError: 'while it was away'")
    assert page.evaluate("window.same") is True
    run.change("running")


def test_the_page_of_a_run_says_that_the_run_has_ended(browser: Any, run: FakeRun, tmp_path: Path) -> None:
    """And how to open it again. When the next version serves it, it goes on."""
    project = run.state.root.parent
    server = Server(project, tmp_path, "--ends-with-stdin")
    page = browser.new_page()
    try:
        page.goto(server.entrance)
        page.wait_for_selector("#connection:text-is('live')")
        assert not page.is_visible("#over")
        assert server.process.stdin is not None
        server.process.stdin.close()
        server.process.wait(60)
        page.wait_for_selector("#connection:text-is('ended')")
        text = f"The run has ended, and this page with it. To open it again: flow ui {project}"
        page.wait_for_selector(f"#over:has-text({json.dumps(text)})")
        server.start()
        page.wait_for_selector("#connection:text-is('live')")
        assert not page.is_visible("#over")
    finally:
        page.close()
        server.process.kill()
        server.process.communicate()


def test_the_page_works_by_keyboard(visit: Visit) -> None:
    """Every streamlet and topic of the graph can be reached, and opened with Enter."""
    page = visit.open("/plant")
    page.focus("input[type=search]")
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset?.name ?? ''"))
    assert {"feed", "pages", "double", "rows", "out"} <= reached
    page.focus("a[data-name=double]")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:text-is('double')")


@pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core, which `.ci/browser` installs")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_breaks_a_rule_of_accessibility(browser: Any, server: Server, run: FakeRun, theme: str) -> None:
    """The rules of WCAG 2, levels A and AA, that axe-core can check; with a failure on the page."""
    visit = Visit(browser, server, theme=theme)
    run.change("backing-off", "ValueError: 7", retry_in=300.0)
    try:
        for path in PAGES:
            page = visit.open(path)
            page.wait_for_selector("main p:text-is('Loading ...'), main p:text-is('Verifying ...')", state="detached")
            page.evaluate(AXE.read_text())
            options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
            found = page.evaluate("options => axe.run(document, options)", options)
            problems = [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found["violations"]]
            assert problems == [], path
    finally:
        run.change("running")
        visit.context.close()


def test_a_slow_answer_is_asked_for_once(visit: Visit) -> None:
    """Each page that asks again and again waits for its last answer, however long it takes."""
    page = visit.open("/plant")
    page.clock.install()
    page.evaluate(
        """() => {
            const real = window.fetch;
            window.waiting = {};
            window.fetch = (path, ...more) => {
                window.waiting[path] = (window.waiting[path] ?? 0) + 1;
                return path === "/api/applications" ? real(path, ...more) : new Promise(() => {});
            };
        }"""
    )
    for tab, title in (("Topics", "Topics"), ("Dead letters", "Dead letters"), ("Application", "plant")):
        page.click(f"header a:text-is('{tab}')")
        page.wait_for_selector(f"main h1:text-is('{title}')")
        page.clock.run_for(30_000)
    page.click("main td a:text-is('double')")
    page.wait_for_selector("main h1:text-is('double')")
    page.clock.run_for(60_000)
    asked = page.evaluate("window.waiting")
    del asked["/api/applications"]
    assert {path.rpartition("/")[2].partition("?")[0] for path in asked} >= {
        "topics",
        "dead-letters",
        "samples",
        "source",
    }
    assert {path: number for path, number in asked.items() if number > 1} == {}


def _broken_letters(visit: Visit, replayed: int) -> Any:
    """Open the dead letters of a server that has some; a replay is answered when the page sets `window.answer`."""
    page = visit.open("/plant")
    page.evaluate(
        """replayed => {
            const real = window.fetch;
            const own = { port: "double.out", reason: "n: it's null" };
            const tally = { ...own, streamlet: "double", waiting: 2, replayed: 0, first: 1, last: 2 };
            const letter = { ...own, origin: "out/1#2", time: 1, replayed: false, version: "", record: { n: null } };
            const broken = [{ ...own, letters: 2 - replayed }];
            const replay = { replayed: { "double.out": replayed }, broken, without_outlet: {} };
            const json = (data) => new Response(JSON.stringify(data));
            const found = { counts: [tally], letters: [letter] };
            window.sent = [];
            window.fetch = (path, options) => {
                if (path.includes("/dead-letters")) return Promise.resolve(json(found));
                if (!path.endsWith("/actions")) return real(path, options);
                window.sent.push(JSON.parse(options.body));
                return new Promise((resolve) => { window.answer = () => resolve(json({ replay })); });
            };
        }""",
        replayed,
    )
    page.click("header a:text-is('Dead letters')")
    page.click("button:text-is('Replay ...')")
    return page


def test_a_replay_shows_that_it_works_and_then_asks(visit: Visit) -> None:
    """The dialog is there before the answer; then it has the numbers and the whole command, as a shell reads it."""
    page = _broken_letters(visit, 1)
    page.wait_for_selector("dialog [role=status]:has-text('Comparing')")
    assert not page.locator("dialog button:text-is('Replay')").is_visible()
    page.evaluate("window.answer()")
    page.wait_for_selector("dialog button:text-is('Replay')")
    text = page.inner_text("dialog")
    assert "1 record conforms now and is written" in text
    assert "1 record still breaks the contract" in text
    assert "flow dead-letters replay double.out --reason 'n: it'\\''s null'" in text
    page.click("dialog button:text-is('Replay')")
    page.wait_for_selector("dialog [role=status]:has-text('Waiting')")
    page.evaluate("window.answer()")
    page.wait_for_selector("dialog", state="detached")
    assert [each.get("dry_run") for each in page.evaluate("window.sent")] == [True, None]


def test_dead_letters_are_beside_the_contract(visit: Visit) -> None:
    """Of the port whose records they are."""
    page = _broken_letters(visit, 1)
    page.wait_for_selector(".beside h3:text-is('The contract of double.out')")
    assert "n long or null" in page.inner_text(".beside .tree")


def test_no_replay_is_offered_when_no_record_conforms(visit: Visit) -> None:
    """The dialog says so, and can only be closed."""
    page = _broken_letters(visit, 0)
    page.evaluate("window.answer()")
    page.wait_for_selector("dialog:has-text('No record conforms now')")
    assert page.locator("dialog button:visible").all_inner_texts() == ["Close"]


def test_only_streamlets_with_queries_can_be_scaled(visit: Visit, run: FakeRun) -> None:
    """The dialog has the present number and the command; of a paused streamlet it says when the new one counts."""
    page = visit.open("/plant/streamlets/feed")
    page.wait_for_selector("button:text-is('Pause')")
    assert page.locator("button:text-is('Scale')").count() == page.locator("h2:text-is('Queries')").count() == 0
    page = visit.open("/plant/streamlets/double")
    page.click("button:text-is('Scale')")
    assert "None are set" in page.inner_text("dialog")
    page.fill("#replicas", "1001")
    page.click("dialog button:text-is('Scale')")
    page.wait_for_selector("dialog .bad:has-text('whole number from 1 to 1,000')")
    page.fill("#replicas", "3")
    assert "flow scale double 3." in page.inner_text("dialog")
    assert "Its running batch is committed" in page.inner_text("dialog")
    page.click("dialog button:text-is('Scale')")
    page.wait_for_selector("dialog", state="detached")
    assert (run.requests[-1].command, run.requests[-1].replicas) == ("scale", 3)
    run.change("paused")
    run.events.publish(StreamletScaled(time.time(), "double", 3, "asked"))
    page.wait_for_selector("main button:text-is('Resume')")
    page.click("button:text-is('Scale')")
    text = page.inner_text("dialog")
    assert "“double” is paused. It has the new number of replicas when it is resumed" in text
    assert "Now: 3, for this run; the blueprint sets none." in text
    assert page.input_value("#replicas") == "3"
    run.change("running")


def test_counts_of_one_are_singular(visit: Visit, run: FakeRun) -> None:
    """One batch, one match, one record."""
    page = visit.open("/plant/streamlets/double")
    page.wait_for_selector("main .state")
    page.reload()
    run.progress(77)
    page.wait_for_selector("svg.bars")
    assert page.get_attribute("svg.bars", "aria-label") == "the last batch, 0.5 s"


def test_the_timeline_has_batches_from_before_the_page(visit: Visit, run: FakeRun) -> None:
    """The stored ones, and then the ones that the page has seen."""
    ring = BatchRing(run.state)
    for number in range(90, 100):
        ring.add(UnitProgressed(time.time(), UNIT, number, 5, seconds=2.0, phases={"executing": 2.0}))
    ring.write()
    try:
        run.progress(100)
        page = visit.open("/plant/streamlets/double")
        page.wait_for_selector("svg.bars[aria-label='the last 11 batches, at most 2.0 s']")
        run.progress(101)
        page.wait_for_selector("svg.bars[aria-label='the last 12 batches, at most 2.0 s']")
        assert "batch 90, " in page.text_content("svg.bars title")
    finally:
        shutil.rmtree(run.state.samples)


def test_a_long_name_does_not_widen_the_page(visit: Visit, run: FakeRun) -> None:
    """Words that are wider than a telephone are broken."""
    run.change("backing-off", "KeyError: '" + "a_very_long_name." * 30 + "'", retry_in=300.0)
    try:
        for path in ("/plant", "/plant/events", "/plant/streamlets/double"):
            page = visit.open(path)
            page.wait_for_selector("text=a_very_long_name")
            page.set_viewport_size({"width": 400, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= 400, path
    finally:
        run.change("running")


def test_a_killed_run_is_one_problem(tmp_path: Path, browser: Any) -> None:
    """And not one for each of its streamlets; of many problems of a run that lives, the first are shown. Long names of
    applications do not widen the list of them, nor their pages."""
    name = "an_application_with_a_name_that_is_wider_than_a_telephone"
    blueprint = write(KINDS["mixed"], tmp_path / name)
    units = [UnitId(f"copy-{number}", "out") for number in range(9)]
    run = FakeRun(blueprint, *units)
    server = Server(tmp_path, tmp_path)
    write(KINDS["python"], tmp_path / "another")
    try:
        visit = Visit(browser, server)
        page = visit.open(f"/{name}")
        for unit in units:
            run.events.publish(UnitChanged(time.time(), unit, "failed", "ValueError: 3"))
        page.wait_for_selector("text=and 4 more streamlets")
        assert page.locator("main .card.error").count() == 5
        for unit in units:
            run.events.publish(UnitChanged(time.time(), unit, "running"))
        page.wait_for_selector("main .card.error", state="detached")
        run.end()
        page.wait_for_selector("text=The run was killed or has crashed.")
        assert page.locator("main .card.error").count() == 1
        page.set_viewport_size({"width": 400, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        page.goto(f"{server.address}/")
        page.wait_for_selector(f"a:text-is('{name}')")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
    finally:
        server.stop()


def test_a_run_that_has_ended_offers_no_action_on_it(tmp_path: Path, browser: Any) -> None:
    """No button that could only be refused; when the state directory is deleted, the page says so."""
    blueprint = write(KINDS["mixed"], tmp_path / "plant")
    run = FakeRun(blueprint)
    run.end()
    server = Server(blueprint.parent, tmp_path)
    try:
        visit = Visit(browser, server)
        page = visit.open("/plant")
        page.wait_for_selector("a[data-name=double]")
        assert page.locator("button:text-is('Stop the application')").count() == 0
        page = visit.open("/plant/streamlets/double")
        page.wait_for_selector("main .state")
        assert page.locator("button:text-is('Pause')").count() == 0
        shutil.rmtree(run.state.directory)
        page.wait_for_selector(f"main p:has-text('{run.state.directory} was deleted')")
        run = FakeRun(blueprint)
        page.wait_for_selector("main h1:text-is('double')")
        run.end()
    finally:
        server.stop()


def test_a_group_becomes_one_box_and_opens_again(tmp_path: Path, browser: Any) -> None:
    """The box has the worst state of its streamlets; a click or a key opens it."""
    blueprint = grouped(tmp_path / "plant")
    units = [UnitId(name, "out") for name in ("first", "second", "last")]
    run = FakeRun(blueprint, *units)
    server = Server(blueprint.parent, tmp_path)
    try:
        visit = Visit(browser, server)
        page = visit.open("/plant")
        page.wait_for_selector("a[data-name=first]")
        page.click("button:text-is('work (2)')")
        page.wait_for_selector("a[data-name=work]")
        assert page.locator("a[data-name=first]").count() == page.locator("a[data-name=between]").count() == 0
        run.events.publish(UnitChanged(time.time(), units[1], "failed", "ValueError: 3"))
        page.wait_for_selector("a[data-name=work]:has-text('failed')")
        page.focus("a[data-name=work]")
        page.keyboard.press("Enter")
        page.wait_for_selector("a[data-name=second]:has-text('failed')")
        assert page.locator("a[data-name=work]").count() == 0
        assert visit.errors == []
    finally:
        server.stop()
        run.end()


def test_a_page_waits_for_an_application_that_is_starting(tmp_path: Path, browser: Any) -> None:
    """Opened before the first run, it shows the run when there is one, and what it is when it describes itself."""
    blueprint = write(KINDS["mixed"], tmp_path / "plant")
    server = Server(blueprint.parent, tmp_path)
    try:
        page = browser.new_context().new_page()
        page.set_default_timeout(60_000)
        page.goto(server.entrance)
        page.goto(f"{server.address}/plant")
        page.wait_for_selector("text=has not run yet")
        run = FakeRun(blueprint)
        page.wait_for_selector("a[data-name=double]")
        page.wait_for_selector("#connection:text-is('live')")
        blueprint.write_text(blueprint.read_text().replace("double", "twice"))
        store_descriptor(run.state, plan_of(blueprint))  # of another version, some time after its start
        page.wait_for_selector("a[data-name=twice]")
        run.state.descriptor_file.unlink()
        page.wait_for_selector("text=has not run yet")
        store_descriptor(run.state, plan_of(blueprint))
        page.wait_for_selector("a[data-name=twice]")
        run.end()
    finally:
        server.stop()
