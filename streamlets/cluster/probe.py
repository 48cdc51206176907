"""A probe of a cluster: one task for each executor reports what it has, and how it differs from the runner."""

from __future__ import annotations

import contextlib
import platform
import re
import secrets
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.wording import counted, span
from streamlets.checks import Check, State
from streamlets.cluster import task
from streamlets.cluster.task import Question, digest_of, version_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Answer = Mapping[str, Any]
"""The report of an executor, as `task.examine` returns it, with `clock`: the certain difference of its clock."""

SKEW = 5.0
"""Seconds by which the clocks of executors may differ from the runner's."""

FRAMEWORK = ("streamlets.api.streamlet", "streamlets.contract.resolve", "blueprint.plan")
"""Modules of Streamlets that stand for all of them."""

_PACKAGES_OF_FRAMEWORK = ("streamlets", "blueprint")
_REQUIRED = ("pyspark", "pyarrow")
_CLOCK_ROUNDS, _ROUNDS = 3, 3
_WHERE = re.compile(r"\(TID \d+\) \((?P<host>\S+) executor (?P<id>\w+)\)")
_MISMATCH = re.compile(r"different version:?\s*(?P<worker>[\d.]+) than that in driver:?\s*(?P<driver>[\d.]+)")
_NO_PROGRAM = re.compile(r'Cannot run program "(?P<program>[^"]+)"')
_NO_MODULE = re.compile(r"No module named '?(?P<module>[\w.]+)'?")
_SAME_ENVIRONMENT = (
    "install the same environment on all machines at the same path, or set `flow.cluster.environment` or "
    "`flow.runtimes.spark.pyspark.python`"
)


def probe(
    session: SparkSession, question: Question, python_path: Sequence[str], executors: int, patience: float
) -> tuple[Check, ...]:
    """Return the differences between the executors of a Spark and this process, or that there are none.

    No query may run yet: a probe that takes too long cancels all jobs.

    Arguments:
        session: the session.
        question: what to ask; the token is created here.
        python_path: where the modules of the application are in this process.
        executors: the number of executors.
        patience: seconds after which an executor that does not answer is an error.
    """
    question = replace(question, token=f".flow-probe-{secrets.token_hex(8)}")
    try:
        with _tokens(question):
            answers = _answers(session, question, executors, patience)
            return tuple(compare(answers, _own(question, python_path), question, executors, _unseen(question, answers)))
    except OSError as error:
        detail = f"cannot write to {error.filename}: {error.strerror}"
        return (Check("directories of executors", State.ERROR, detail, "change its access rights"),)
    except Exception as error:  # noqa: BLE001 - py4j and PySpark have several for a job that failed
        return (failed_task(str(error), patience),)


@contextlib.contextmanager
def _tokens(question: Question) -> Iterator[None]:
    """Have a file with the token in each directory; what executors have written next to it is deleted, too."""
    try:
        for path in question.paths:
            Path(path, question.token).write_text(question.token, encoding="utf-8")
        yield
    finally:
        for path in question.paths:
            for file in Path(path).glob(f"{question.token}*"):
                file.unlink(missing_ok=True)


def _unseen(question: Question, answers: Iterable[Answer]) -> list[str]:
    """Return the directories in which this process does not see a file that an executor has written."""
    return [
        path
        for path in question.paths
        for answer in answers
        if not answer["paths"][path] and not Path(path, f"{question.token}.{answer['number']}").exists()
    ]


def _own(question: Question, python_path: Sequence[str]) -> Answer:
    return {
        "python": platform.python_version(),
        "packages": {name: version_of(name) for name in task.PACKAGES},
        "modules": {name: digest_of(name, [*python_path, *sys.path]) for name in question.modules},
    }


def _answers(session: SparkSession, question: Question, executors: int, patience: float) -> list[Answer]:
    """Return the report of each executor. Tasks are spread over free executors; some may have to be asked again."""
    from pyspark import cloudpickle

    context, asked = session.sparkContext, question.plain()
    timer = threading.Timer(patience, context.cancelAllJobs)
    timer.daemon = True
    timer.start()
    cloudpickle.register_pickle_by_value(task)  # type: ignore[no-untyped-call]
    try:
        answers: dict[tuple[str, int], dict[str, Any]] = {}
        for _ in range(_ROUNDS):
            tasks = context.parallelize(range(executors), executors)
            for answer in tasks.map(lambda n: task.examine(asked, n) | {"number": n}).collect():
                answers.setdefault(_name(answer), answer)
            if len(answers) >= executors:
                break
        for _ in range(_CLOCK_ROUNDS):
            before = time.time()
            told = context.parallelize(range(executors), executors).map(lambda n: task.identity()).collect()
            after = time.time()
            for identity in told:
                known = answers.get(_name(identity))
                if known is not None and after - before <= known.get("error", after - before):
                    known["clock"] = max(before - identity["time"], identity["time"] - after, 0.0)
                    known["error"] = after - before
        return list(answers.values())
    finally:
        timer.cancel()
        cloudpickle.unregister_pickle_by_value(task)  # type: ignore[no-untyped-call]


def _name(identity: Mapping[str, Any]) -> tuple[str, int]:
    return identity["host"], identity["process"]


def compare(
    answers: Sequence[Answer], own: Answer, question: Question, executors: int, unseen: Sequence[str] = ()
) -> Iterator[Check]:
    """Yield the differences between executors and the runner, and the subjects without one.

    Arguments:
        answers: the reports of the executors.
        own: what the runner has.
        question: what was asked.
        executors: the number of executors that exist.
        unseen: the directories in which the runner did not see what an executor has written.
    """
    hosts = ", ".join(sorted({answer["host"] for answer in answers}))
    if len(answers) < executors:
        detail = f"{len(answers)} of {counted(executors, 'executor')} answered"
        yield Check("executors", State.WARNING, detail, "run `flow doctor --master` when the cluster has free cores")
    else:
        yield Check("executors", State.OK, f"{counted(len(answers), 'executor')} on {hosts}")
    for subject, problems, fine in (
        ("Python of executors", [*_python(answers, own)], _versions(own)),
        ("modules of executors", [*_modules(answers, own)], counted(len(question.modules), "module")),
        ("directories of executors", [*_directories(answers, unseen)], ", ".join(question.paths)),
        ("jars of executors", [*_jars(answers)], counted(len(question.files), "jar")),
        ("clocks of executors", [*_clocks(answers)], _agreement(answers)),
    ):
        for state, detail, help in problems:
            yield Check(subject, state, detail, help)
        if not problems and fine and not fine.startswith("0 "):
            yield Check(subject, State.OK, fine)


Problem = tuple[State, str, str]


def _python(answers: Sequence[Answer], own: Answer) -> Iterator[Problem]:
    for (version, executable), who in _differing(answers, lambda it: (it["python"], it["executable"])).items():
        if _minor(version) != _minor(own["python"]):
            yield State.ERROR, f"{who}: Python {version} ({executable}), the runner {own['python']}", _SAME_ENVIRONMENT
        elif version != own["python"]:
            yield State.WARNING, f"{who}: Python {version}, the runner {own['python']}", _SAME_ENVIRONMENT
    for name, expected in own["packages"].items():
        for version, who in _differing(answers, lambda it, name=name: it["packages"][name]).items():
            if version == expected or (version is None and name not in _REQUIRED):
                continue
            state = State.ERROR if version is None or name == "pyspark" else State.WARNING
            has = f"{name} {version}" if version is not None else f"{name} is not installed"
            yield state, f"{who}: {has}, the runner has {expected}", _SAME_ENVIRONMENT


def _modules(answers: Sequence[Answer], own: Answer) -> Iterator[Problem]:
    for name, digest in own["modules"].items():
        for other, who in _differing(answers, lambda it, name=name: it["modules"][name]).items():
            help = (
                "put the application into a directory that executors share, or set `flow.cluster.modules = files`"
                if name.partition(".")[0] not in _PACKAGES_OF_FRAMEWORK
                else "install Streamlets in the environment of the executors, or set `flow.cluster.modules = files`"
            )
            if other is None:
                yield State.ERROR, f"{who}: there is no module `{name}`", help
            elif other != digest:
                yield State.ERROR, f"{who}: the module `{name}` has another content than the runner's", help


def _directories(answers: Sequence[Answer], unseen: Sequence[str]) -> Iterator[Problem]:
    help = "choose a directory that all machines mount at the same path, for example with `--state-dir`"
    for path in answers[0]["paths"] if answers else ():
        for reason, who in _differing(answers, lambda it, path=path: it["paths"][path]).items():
            if reason:
                yield State.ERROR, f"{who}: {path} is not the runner's directory: {reason}", help
    for path in dict.fromkeys(unseen):
        yield State.ERROR, f"the runner does not see what executors write to {path}", help


def _jars(answers: Sequence[Answer]) -> Iterator[Problem]:
    for missing, who in _differing(answers, lambda it: tuple(it["missing"])).items():
        if missing:
            yield (
                State.ERROR,
                f"{who}: {', '.join(missing)} does not exist",
                "copy it to all machines, or into the image",
            )


def _clocks(answers: Sequence[Answer]) -> Iterator[Problem]:
    for answer in answers:
        if (skew := answer.get("clock", 0.0)) > SKEW:
            yield (
                State.WARNING,
                f"{_who([answer])}: the clock differs from the runner's by {span(skew)}",
                "synchronize the clocks of all machines, for example with chrony",
            )


def _agreement(answers: Sequence[Answer]) -> str:
    errors = [answer["error"] for answer in answers if "error" in answer]
    return f"they agree within {max(errors):.1f} s, the time of a task" if errors else ""


def _versions(own: Answer) -> str:
    return f"Python {own['python']}, " + ", ".join(f"{name} {own['packages'][name]}" for name in _REQUIRED)


def _differing(answers: Sequence[Answer], value: Any) -> dict[Any, str]:
    """Return the executors that have each value, in words."""
    by_value: dict[Any, list[Answer]] = {}
    for answer in answers:
        by_value.setdefault(value(answer), []).append(answer)
    return {key: _who(group) for key, group in by_value.items()}


def _who(answers: Sequence[Answer]) -> str:
    names = [f"{answer['id']} on {answer['host']}" if answer["id"] else f"on {answer['host']}" for answer in answers]
    return f"executor {names[0]}" if len(names) == 1 else f"executors {', '.join(sorted(names))}"


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def failed_task(text: str, patience: float = 0.0) -> Check:
    """Return why no task could answer.

    Arguments:
        text: the message of Spark.
        patience: seconds after which all jobs were cancelled.
    """
    where = _WHERE.search(text)
    who = f"executor {where['id']} on {where['host']}" if where else "an executor"
    if match := _MISMATCH.search(text):
        detail = f"{who}: Python {match['worker']}, the runner {match['driver']}"
        return Check("Python of executors", State.ERROR, detail, _SAME_ENVIRONMENT)
    if match := _NO_PROGRAM.search(text):
        detail = f"{who}: there is no {match['program']}"
        return Check("Python of executors", State.ERROR, detail, _SAME_ENVIRONMENT)
    if match := _NO_MODULE.search(text):
        detail = f"{who}: {match['module']} is not installed"
        return Check("Python of executors", State.ERROR, detail, _SAME_ENVIRONMENT)
    if "cancelled" in text:
        detail = f"a task did not end within {patience:.0f} s"
        return Check("executors", State.ERROR, detail, "look at the executors on the page of the master")
    reason = next((line for line in text.splitlines() if line.strip()), "")
    return Check(
        "executors", State.ERROR, f"{who}: a task failed: {reason[:300]}", "see spark.log in the state directory"
    )
