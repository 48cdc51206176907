"""The start on a cluster waits for the master and for executors, but never for ever."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from blueprint.core_settings import ClusterSettings
from blueprint.masters import Master, master_of
from blueprint.quantities import duration
from streamlets.checks import Check, State
from streamlets.cluster.executors import Executor, Look
from streamlets.cluster.reachable import unreachable
from streamlets.cluster.starting import Start, require_no_errors
from streamlets.spark.session import SessionError
from streamlets.spark.settings import SessionPlan

_STANDALONE = master_of("spark://127.0.0.1:7077")


class Clock:
    """A clock that only sleeps move."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def _start(directory: Path, clock: Clock, **settings: object) -> Start:
    cluster = ClusterSettings(start_timeout=duration("30 seconds"), **settings)  # type: ignore[arg-type]
    plan = SessionPlan("app", directory, directory, _STANDALONE.url, cluster=cluster)
    return Start(plan, print, clock=clock, sleep=clock.sleep)


def _executors(*cores: int) -> Look:
    return Look({str(id): Executor(str(id), "h:1", number) for id, number in enumerate(cores)})


def _looks(clock: Clock, *times: tuple[float, Look]) -> Iterator[Look]:
    """Yield the look of each time."""
    while True:
        yield next(look for since, look in reversed(times) if clock.now >= since)


def test_a_master_that_was_never_there(tmp_path: Path) -> None:
    """The wait ends after the time of the settings; the message has the address, the reason and the remedy."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        master = master_of(f"spark://127.0.0.1:{free.getsockname()[1]}")
    clock = Clock()
    with pytest.raises(SessionError, match=r"does not answer within 30 seconds: .*Connection refused") as refused:
        _start(tmp_path, clock).wait_for_master(master)
    assert master.url in str(refused.value) and "flow.cluster.master" in refused.value.help
    assert clock.now >= 30


def test_a_master_that_answers_is_not_waited_for(tmp_path: Path) -> None:
    """One of several is enough; a master without an address, such as YARN, is not asked."""
    clock = Clock()
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        _start(tmp_path, clock).wait_for_master(
            Master("spark://", "standalone", (("127.0.0.1", 1), ("127.0.0.1", port)))
        )
    assert clock.now == 0.0
    assert unreachable(master_of("yarn")) == ""


@pytest.mark.parametrize(
    ("times", "settings", "expected", "seconds"),
    [
        ([(0, _executors()), (4, _executors(1, 1))], {"cores_max": 2}, 2, 4),
        ([(0, _executors(1)), (3, _executors(1, 1)), (60, _executors(1, 1, 1))], {}, 2, 8),
        ([(0, _executors(1))], {"cores_max": 2}, 1, 5),
        ([(0, _executors()), (29.5, _executors(4))], {}, 1, 30),
    ],
    ids=["all that are expected", "no more come", "fewer than expected", "just in time"],
)
def test_executors_are_waited_for(
    times: Sequence[tuple[float, Look]], settings: dict[str, int], expected: int, seconds: float, tmp_path: Path
) -> None:
    """Until all have come, or none has for some seconds."""
    clock = Clock()
    looks = _looks(clock, *times)
    look = _start(tmp_path, clock, **settings).wait_for_executors(_STANDALONE, lambda: next(looks))
    assert len(look.executors) == expected
    assert seconds <= clock.now < seconds + 1


@pytest.mark.parametrize(
    ("look", "message"),
    [
        (Look(), "no executor within 30 seconds$"),
        (Look(removed={"0": "exited with code 1"}), "no executor within 30 seconds; the last one was removed: exited"),
    ],
    ids=["no worker, or no free core", "executors that exit"],
)
@pytest.mark.parametrize("url", ["spark://127.0.0.1:7077", "k8s://https://127.0.0.1:6443", "yarn"])
def test_no_executor_is_one_clear_error(look: Look, message: str, url: str, tmp_path: Path) -> None:
    """Spark itself would wait for ever; the remedy is that of the kind of master."""
    clock = Clock()
    with pytest.raises(SessionError, match=message) as refused:
        _start(tmp_path, clock).wait_for_executors(master_of(url), lambda: look)
    assert refused.value.help and url in str(refused.value)
    assert 30 <= clock.now < 31


def test_a_wrong_secret_is_recognized(tmp_path: Path) -> None:
    """The master closes connections, and Spark gives up: its log says so, in words that do not name the secret."""
    start = _start(tmp_path, Clock())
    start.plan.log_file.write_text("ERROR StandaloneSchedulerBackend: All masters are unresponsive! Giving up.\n")
    with pytest.raises(SessionError, match="accepts connections, but not the application") as refused:
        start.wait_for_executors(_STANDALONE, lambda: Look(stopped=True))
    assert "flow.cluster.secret" in refused.value.help


def test_a_spark_that_has_stopped_for_another_reason(tmp_path: Path) -> None:
    """The message refers to the log."""
    with pytest.raises(SessionError, match="does not run the application") as refused:
        _start(tmp_path, Clock()).wait_for_executors(_STANDALONE, lambda: Look(stopped=True))
    assert "spark.log" in refused.value.help


def test_errors_of_the_probe_are_one_message() -> None:
    """With all differences, and each remedy once; warnings do not prevent a start."""
    warning = Check("clocks", State.WARNING, "differ", "synchronize")
    require_no_errors((warning, Check("executors", State.OK, "3")))
    errors = (Check("a", State.ERROR, "no pyarrow", "install"), Check("b", State.ERROR, "no module", "install"))
    with pytest.raises(SessionError, match="no pyarrow; no module") as refused:
        require_no_errors((warning, *errors))
    assert refused.value.help == "install"
