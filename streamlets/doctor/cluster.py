"""Checks of the cluster of an application: its master, and what its executors have."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from blueprint.plan import ApplicationPlan
from streamlets.checks import Check, State
from streamlets.cluster.starting import Start, question_of
from streamlets.runner.drivers.driver import session_plan
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.spark.session import SessionError


def executors(plan: ApplicationPlan, state: StateDirectory, print_line: Callable[[str], None]) -> Iterator[Check]:
    """Start Spark on the cluster of an application, and check its executors; yield nothing without a cluster.

    The logs of Spark are in a temporary directory, which is kept if Spark cannot be started.

    Arguments:
        plan: the application.
        state: its state directory, which need not exist.
        print_line: takes each line that Spark prints.
    """
    directory = state.directory.absolute()
    place = next(parent for parent in (directory, *directory.parents) if parent.is_dir())
    scratch = Path(tempfile.mkdtemp(prefix="flow-doctor-"))
    try:
        session = replace(session_plan(plan, state, None), logs=scratch / "logs", scratch=scratch)
        master = session.spark_master
        if master is None or master.kind == "local":
            shutil.rmtree(scratch)
            return
        question = question_of(plan, (place,), session)
        spark, checks = Start(session, print_line, question=question).begin()
    except SessionError as error:
        yield Check("cluster", State.ERROR, str(error), error.help)
        return
    try:
        yield Check("cluster", State.OK, master.url)
        yield from checks
    finally:
        spark.stop()
        shutil.rmtree(scratch, ignore_errors=True)
