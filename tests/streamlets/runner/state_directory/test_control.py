"""Requests from other terminals reach the owner of the state directory, which carries them out or refuses them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue

import pytest

from streamlets.runner.events.run_events import StreamletScaled
from streamlets.runner.orders import Orders
from streamlets.runner.state_directory.control import Control, Request, RunnerGoneError, ask, request
from streamlets.runner.state_directory.directory import HANDED_OVER, StateDirectory, StateError
from tests.streamlets.runner.supervision.bench import Bench

REFUSAL = "this will not do"


@contextmanager
def _orders(state: StateDirectory, bench: Bench) -> Iterator[Orders]:
    """A runner without Spark that carries out requests in a thread."""
    with state.locked():
        inbox: SimpleQueue[Request] = SimpleQueue()
        orders = Orders(
            state, inbox.put, lambda arguments: REFUSAL if "bad" in arguments else "", planned={"a": 2, "b": None}
        )
        done: SimpleQueue[None] = SimpleQueue()

        def work() -> None:
            while (wanted := inbox.get()).command != "stop-now":
                orders.carry_out(wanted, bench.supervisor)
            done.put(None)

        threading.Thread(target=work, daemon=True).start()
        yield orders
        inbox.put(request("stop-now"))
        done.get()
        orders.close()


def test_a_request_is_carried_out_and_answered(tmp_path: Path) -> None:
    """Pause and resume reach the supervisor; a paused streamlet stays paused in the next run until it is resumed."""
    state, bench = StateDirectory(tmp_path, "app"), Bench("ab")
    with _orders(state, bench):
        assert ask(state, request("pause", streamlet="a"), patience=300).refused == ""
        assert bench.supervisor.pause("x", "") == ask(state, request("pause", streamlet="x"), patience=300).refused
        paused = json.loads(state.paused_file.read_text())
        assert list(paused) == ["a"]
        assert paused["a"].startswith("paused by ")
        assert ask(state, request("resume", streamlet="a"), patience=300).refused == ""
        assert json.loads(state.paused_file.read_text()) == {}
        assert ask(state, request("pause", streamlet="b"), patience=300).refused == ""
    with _orders(state, bench) as orders:
        assert list(orders.paused) == ["b"]
    assert list(state.control.iterdir()) == []


def test_a_number_of_replicas_is_for_one_run(tmp_path: Path) -> None:
    """Nothing of it is stored. The number in the blueprint is not a number of the run. Numbers that no blueprint may
    have are refused, also in a request that `flow scale` has not written, and so is any number during an upgrade."""
    state, bench = StateDirectory(tmp_path, "app"), Bench("ab")

    def scale(ref: str, replicas: int) -> str:
        return ask(state, request("scale", streamlet=ref, replicas=replicas), patience=300).refused

    with _orders(state, bench):
        before = sorted(state.directory.rglob("*"))
        assert (scale("a", 4), scale("b", 4)) == ("", "")
        assert scale("a", 2) == ""
        assert scale("a", 2) == "`a` has this number of replicas already"
        assert scale("b", 0) == "the number of replicas must be a whole number from 1 to 1,000, found 0"
        assert "found 10000" in scale("b", 10_000)
        assert "found -1" in scale("b", -1)
        assert scale("x", 2) == "there is no streamlet `x`"
        assert sorted(state.directory.rglob("*")) == before
        assert ask(state, request("upgrade", arguments=("good",)), patience=300).refused == ""
        assert scale("b", 3) == "the run is being upgraded: repeat the command when the new version is up"
    scaled = [(e.streamlet, e.replicas) for e in bench.events if isinstance(e, StreamletScaled)]
    assert scaled == [("a", 4), ("b", 4), ("a", None)]


def test_an_upgrade_is_checked_before_anything_is_drained(tmp_path: Path) -> None:
    """A version that does not verify is refused with the reason, and the run goes on; one that does drains the run. A
    later stop cancels the upgrade."""
    state, bench = StateDirectory(tmp_path, "app"), Bench("a")
    bench.started("a")
    with _orders(state, bench) as orders:
        assert ask(state, request("upgrade", arguments=("bad",)), patience=300).refused == REFUSAL
        assert (bench.supervisor.ending, orders.upgrade) == (False, None)
        assert ask(state, request("upgrade", arguments=("good",), reset=("a.x",)), patience=300).refused == ""
        assert orders.upgrade is not None
        assert (orders.upgrade.arguments, orders.upgrade.reset) == (("good",), ("a.x",))
        assert bench.units["a"].calls == ["start", "drain"]
        assert ask(state, request("upgrade", arguments=("again",)), patience=300).refused == (
            "the run is being upgraded: repeat the command when the new version is up"
        )
        assert ask(state, request("stop"), patience=300).refused == ""
        assert orders.upgrade is None


def test_a_request_without_a_runner_fails_at_once(tmp_path: Path) -> None:
    """A runner that does not answer in time is an error with its process id."""
    state = StateDirectory(tmp_path, "app")
    with pytest.raises(RunnerGoneError, match="app is not running"):
        ask(state, request("stop"), patience=300)
    with state.locked(), pytest.raises(StateError, match=rf"process {os.getpid()}\) has not answered for 1 s"):
        ask(state, request("stop"), patience=1, sleep=lambda seconds: None)
    assert list(state.control.iterdir()) == []


def test_invalid_requests_are_ignored_and_unanswered_ones_are_refused_at_the_end(tmp_path: Path) -> None:
    """Broken files, unknown commands and requests to an earlier run are deleted without effect."""
    state = StateDirectory(tmp_path, "app")
    taken: list[str] = []
    with state.locked():
        state.control.mkdir()
        (state.control / "old.request").write_text("{}")
        control = Control(state, lambda wanted: taken.append(wanted.command))
        for name, text in (
            ("a", "{"),
            ("b", '{"id": "b", "command": "dance", "by": "x", "arguments": [], "reset": []}'),
        ):
            (state.control / f"{name}.request").write_text(text)
        wanted = request("restart", streamlet="a")
        (state.control / f"{wanted.id}.request").write_text(json.dumps(asdict(wanted)))
        while not taken:
            time.sleep(0.01)
        control.close()
        assert taken == ["restart"]
        assert json.loads((state.control / f"{wanted.id}.answer").read_text()) == {"refused": "the run has ended"}
        assert list(state.control.glob("*.request")) == []


def test_a_check_for_the_owner_does_not_keep_a_new_owner_out(tmp_path: Path) -> None:
    """`owner` takes the lock for an instant; a run that starts in that instant retries."""
    state = StateDirectory(tmp_path, "app")
    assert state.owner() is None
    with state.locked():
        assert state.owner() == os.getpid()
    looking = subprocess.Popen(
        [sys.executable, "-c", _LOOK, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert looking.stdout is not None
    looking.stdout.readline()
    for _ in range(20):
        with state.locked():
            pass
    looking.communicate("")


_LOOK = """
import sys, threading
from pathlib import Path
from streamlets.runner.state_directory.directory import StateDirectory
state = StateDirectory(Path(sys.argv[1]), "app")
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
print("looking", flush=True)
while not over.is_set():
    state.owner()
"""


def test_the_lock_is_held_without_a_gap_while_it_is_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A duplicate of the lock's file descriptor keeps the directory locked; the next version takes it over, once."""
    state = StateDirectory(tmp_path, "app")
    with state.locked() as lock:
        kept = os.dup(lock)
    assert state.owner() == os.getpid()
    monkeypatch.setenv(HANDED_OVER, str(kept))
    with state.locked() as lock:
        assert lock == kept
        assert HANDED_OVER not in os.environ
    assert state.owner() is None


def test_only_the_user_can_read_the_arguments_of_a_run(tmp_path: Path) -> None:
    """They may contain secrets."""
    state = StateDirectory(tmp_path, "app")
    with state.locked():
        state.keep_launch(("blueprint.conf", "key=secret"))
    assert stat.S_IMODE(state.launch_file.stat().st_mode) == 0o600
    assert state.launched() == ("blueprint.conf", "key=secret")
