"""Spouts with their real programs: delivery with `flow put` and Python, exit codes, secrets, ports."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from queue import Empty

import pytest

from blueprint.core_settings import StreamletSettings
from blueprint.quantities import duration
from streamlets import Spout
from streamlets.ingress.spouts.program_unit import ProgramUnit
from streamlets.runner.supervision.facts import Ended, Hung, Progressed, Seen, Started
from streamlets.testkit import Testkit, TestkitError
from streamlets.testkit.spout_under_test import SpoutUnderTest

SCHEMA = {"out": "id long not null"}


def shell(kit: Testkit, script: str, **parameters: object) -> SpoutUnderTest:
    """Return a spout around a shell script."""
    return kit.spout(Spout, parameters={"cmd": ["sh", "-c", script], **parameters}, schemas=SCHEMA)


def test_flow_put_in_a_shell_script(spouts: Testkit, tmp_path: Path) -> None:
    """Files and the standard input are delivered, with a marker; what is refused ends with code 1."""
    (tmp_path / "orders").write_text('{"id": 2}\n')
    feed = shell(
        spouts,
        f"set -e; cd {tmp_path}; flow put out --print-marker; echo '{{\"id\": 1}}' | flow put out\n"
        "flow put out:orders -f orders --marker '{\"at\": 9}'; flow put :orders --print-marker\n"
        "flow put --print-marker; echo '{\"id\": 3}' | flow put\n"
        "set +e; flow put out -f orders --marker NaN; flow put other --print-marker; echo junk | flow put out\n"
        "STREAMLETS_SPOUT_TOKEN=x flow put out -f orders; flow put out -f missing; flow put other -f orders || exit 7",
    )
    assert feed.run().startswith("exit code 7: ")
    assert [row["id"] for row in feed.outlet("out").all()] == [1, 2, 3]
    assert [line for line in feed.log if line.startswith("stdout")] == ["stdout: null", *['stdout: {"at": 9}'] * 2]
    errors = [line for line in feed.log if line.startswith("stderr: ") and line != "stderr: "]
    for expected in (
        "`NaN` is not JSON", "has no outlet `other`; its outlets: `out`", "1 of its records is in the dead letters",
        "the token in `STREAMLETS_SPOUT_TOKEN` is not the", "File 'missing' does not exist",
        "has no outlet `other`; its outlets: `out`",
    ):  # fmt: skip
        while expected not in errors[0]:
            errors.pop(0)
        errors.pop(0)


@pytest.mark.parametrize(
    ("script", "accepted", "failure"),
    [
        ("exit 0", [], ""),
        ("exit 3", [3, 4], ""),
        ("echo no such host >&2; echo; exit 3", [], "exit code 3: no such host"),
        ("kill -9 $$", [], "ended by SIGKILL"),
    ],
)
def test_exit_codes(spouts: Testkit, script: str, accepted: list[int], failure: str) -> None:
    """0 and accepted codes complete; the failure of others has the last line of the standard error."""
    assert shell(spouts, script, **{"accept-return-codes": accepted}).run() == failure


def test_secrets_are_masked_everywhere(spouts: Testkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program gets them by variables; its log and its failure do not show them."""
    monkeypatch.setenv("RUNNERS_KEY", "hunter22")
    (tmp_path / "password").write_text("correct horse\n")
    secrets = {
        "KEY": {"env": "RUNNERS_KEY"},
        "PASSWORD": {"file": str(tmp_path / "password")},
        "PASSWORD_FILE": {"file": str(tmp_path / "password"), "as": "path"},
    }
    feed = shell(
        spouts,
        '[ "$KEY" = hunter22 ] || exit 1; [ "$PASSWORD" = "$(cat "$PASSWORD_FILE")" ] || exit 2\n'
        'echo "key is $KEY"; echo "wrong: $PASSWORD" >&2; [ -z "$RUNNERS_KEY" ] && exit 3',
        secrets=secrets,
    )
    assert feed.run() == "exit code 3: wrong: (secret)"
    assert not any(secret in line for line in feed.log for secret in ("hunter22", "correct horse"))


def test_a_secret_that_disappears(spouts: Testkit, tmp_path: Path) -> None:
    """The failure names it."""
    (tmp_path / "password").write_text("x")
    feed = shell(spouts, "exit 0", secrets={"PASSWORD": {"file": str(tmp_path / "password")}})
    (tmp_path / "password").unlink()
    assert feed.run() == "the secret `PASSWORD` is not available: No such file or directory"


def test_the_port_of_a_service(spouts: Testkit) -> None:
    """The program gets it by a variable; the spout fails while another process uses it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        feed = shell(spouts, 'echo "port $STREAMLETS_SPOUT_PORT"', service={"port": port})
        assert feed.run() == f"the port {port} of its service is in use"
    assert feed.run() == ""
    assert f"stdout: port {port}" in feed.log


def test_a_program_that_does_not_end(spouts: Testkit) -> None:
    """The testkit ends it."""
    with pytest.raises(TestkitError, match=r"has not ended after 0\.1 s"):
        shell(spouts, "sleep 1000").run(seconds=0.1)


def _hung(feed: SpoutUnderTest, unit: ProgramUnit) -> str:
    """Have a unit check itself, as the supervisor does, until it is stuck; return what does not happen."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        unit.check()
        with suppress(Empty):
            fact = feed._facts.get(timeout=0.01)
            if isinstance(fact, Hung):
                return fact.event.what
    raise AssertionError("it is not stuck")


def _unit(feed: SpoutUnderTest, stuck_after: str = "10 minutes") -> ProgramUnit:
    settings = StreamletSettings(stuck_after=duration(stuck_after))
    return ProgramUnit(replace(feed.plan, settings=settings), feed._resources, feed._context)


def test_a_program_that_promises_signs_of_life_and_gives_none_is_stuck(spouts: Testkit) -> None:
    """Here it is suspended, so that it cannot answer anything. It is reported, and again when it goes on."""
    script = "echo $$; while true; do echo here; sleep 0.05; done"
    feed = shell(spouts, script, heartbeat=duration("2 s"))
    unit = _unit(feed)
    unit.start(1)
    while not any(line.startswith("stdout: ") for line in feed.log):
        time.sleep(0.01)
    program = int(next(line for line in feed.log if line.startswith("stdout: ")).removeprefix("stdout: "))
    unit.check()
    os.killpg(program, signal.SIGSTOP)
    assert _hung(feed, unit) == "no sign of life of its program"
    os.killpg(program, signal.SIGCONT)
    end = time.monotonic() + 300
    while not (feed._facts.qsize() and isinstance(feed._facts.get(), Seen)):
        assert time.monotonic() < end
        unit.check()
        time.sleep(0.01)
    unit.stop()
    assert feed._ended(300) == Ended(unit.id, 1)


def test_a_program_that_hangs_in_a_transaction_is_stuck(spouts: Testkit) -> None:
    """Without a promise, too: the transaction was begun, and nothing of it comes. It is never published."""
    script = (
        "from streamlets import spout; import time\n"
        "with spout.transaction() as t:\n    t.emit({'id': 1}); t._flush(); t._stream.flush(); time.sleep(1000)\n"
    )
    feed = spouts.spout(Spout, parameters={"cmd": [sys.executable, "-c", script]}, schemas=SCHEMA)
    unit = _unit(feed, stuck_after="200 ms")
    unit.start(1)
    assert _hung(feed, unit) == "no data of an open transaction"
    unit.stop()
    assert feed._ended(300) == Ended(unit.id, 1)
    assert feed.outlet("out").all() == []


def test_a_program_that_has_nothing_to_deliver_is_not_stuck(spouts: Testkit) -> None:
    """It says that it is alive, or promises nothing."""
    alive = "from streamlets import spout\nimport time\nwhile True:\n    spout.alive()\n    time.sleep(0.01)\n"
    silent = "import time\nprint('up', flush=True)\ntime.sleep(1000)\n"
    for script, heartbeat in ((alive, "30 s"), (silent, "0 s")):
        feed = spouts.spout(
            Spout, parameters={"cmd": [sys.executable, "-c", script], "heartbeat": duration(heartbeat)}, schemas=SCHEMA,
            ref=f"every-{heartbeat[:-2]}",
        )  # fmt: skip
        unit = _unit(feed, stuck_after="0 s" if heartbeat == "0 s" else "10 minutes")
        unit.start(1)
        assert isinstance(feed._facts.get(timeout=300), Started)
        for _ in range(10):
            unit.check()
            time.sleep(0.01)
        unit.stop()
        assert feed._ended(300) == Ended(unit.id, 1)


def test_a_drain_sends_sigterm_and_then_sigkill(spouts: Testkit) -> None:
    """A program that ends itself has not failed, and neither has one that ignores the signal."""
    for script, patience in (("trap 'exit 9' TERM", "5 minutes"), ("trap '' TERM", "100 ms")):
        feed = spouts.spout(
            Spout,
            ref=f"feed-{len(script)}",
            parameters={
                "cmd": ["sh", "-c", f"{script}; echo '{{\"id\": 1}}' | flow put out; while true; do sleep 0.05; done"],
                "stop-timeout": patience,
            },
            schemas=SCHEMA,
        )
        unit = ProgramUnit(feed.plan, feed._resources, feed._context)
        unit.start(5)
        facts: list[object] = []
        while not any(isinstance(fact, Progressed) for fact in facts):
            facts.append(feed._facts.get(timeout=300))
        assert facts[0] == Started(unit.id, 5)
        unit.drain()
        assert feed._ended(300) == Ended(unit.id, 5)
        killed = [line for line in feed.log if "SIGKILL" in line]
        assert bool(killed) == (script == "trap '' TERM")


def test_a_program_that_is_killed_in_a_transaction(spouts: Testkit) -> None:
    """Nothing of the transaction is published, and its staged files are deleted."""
    program = (
        "import os\nfrom streamlets import spout\nwith spout.transaction() as t:\n    t.put('f', '{\"id\": 1}')\n"
        "    t._stream.flush()\n    os._exit(4)\n"
    )
    feed = spouts.spout(Spout, parameters={"cmd": [sys.executable, "-c", program]}, schemas=SCHEMA)
    assert feed.run() == "exit code 4"
    assert feed.outlet("out").all() == []
    assert feed.run() == "exit code 4"
    assert len(list((feed._state.staging / feed.plan.ref).iterdir())) <= 1  # the last one ends with its connection
