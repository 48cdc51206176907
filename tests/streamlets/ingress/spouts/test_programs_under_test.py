"""Spouts with their real programs: delivery with `flow put` and Python, exit codes, secrets, ports."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from streamlets import Spout
from streamlets.ingress.spouts.program_unit import ProgramUnit
from streamlets.runner.supervision.facts import Ended, Progressed, Started
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
