"""Whatever the logic of one streamlet does while it is built, it is a finding, and the other streamlets are checked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from blueprint.verification.verify import Verification, verify
from streamlets.plans import LogicChecker
from streamlets.plans.signals import Signals
from streamlets.project.catalog import ProjectCatalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEAD = """
from streamlets import SparkStreamlet, SparkStreamletLogic
from streamlets.triggers import real_time
"""
STREAMLET = """
class {name}(SparkStreamlet):
    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self):
            ticks = self.source("ticks", format="rate")
            writer = ticks.writeStream.format("console").outputMode("update")
            {body}
            return self.query("show", writer, trigger={trigger})
"""
BODIES = {
    "SystemExit": ("raise SystemExit(3)", "logic-raises", "the logic raised SystemExit: 3"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", "logic-raises", "the logic raised KeyboardInterrupt"),
    "GeneratorExit": ("raise GeneratorExit", "logic-raises", "the logic raised GeneratorExit"),
    "ExceptionGroup": ("raise ExceptionGroup('two', [ValueError()])", "logic-raises", "the logic raised Exc"),
    "recursion": ("self.build_streaming_queries()", "logic-raises", "the logic raised RecursionError"),
    "endless": ("while True: ticks = ticks", "logic-raises", "the logic took too long to build"),
    "endless, catching": (
        "\n            while True:\n                try: ticks.select('*')\n                except Exception: pass",
        "logic-raises", "the logic took too long to build",
    ),
    "AnalysisException": ("self.session.table('nope')", "plan-refused", "there is no table or view `nope`"),
    "Py4JJavaError": ("self.session._jvm.java.lang.Integer.parseInt('x')", "plan-refused", "Spark rejects this"),
    "Py4JError": ("self.session._jsparkSession.nothing()", "plan-refused", "Spark rejects this"),
    "stopping Spark": ("self.session.stop()", "action-in-logic", "`stop` is called while the logic is built"),
    "stopping the context": ("self.session.sparkContext.stop()", "action-in-logic", "`stop` is called"),
}  # fmt: skip
KILL = "self.session._jvm.java.lang.Runtime.getRuntime().halt(3)"


def application(directory: Path, body: str, trigger: str = "None") -> Path:
    """Create an application of a valid streamlet, one with a given body or trigger, and another valid one."""
    odd = STREAMLET.format(name="Odd", body=body, trigger=trigger)
    even = STREAMLET.format(name="Even", body="pass", trigger="None")
    # A copy of the package is another one for the project, so each test has a module of its own.
    module = f"odd_{directory.name}".replace("-", "_")
    wrong = STREAMLET.format(name="Wrong", body="ticks.nothing", trigger="None")
    (directory / f"{module}.py").write_text(HEAD + odd + even + wrong)
    refs = f"first = {module}.Even, odd = {module}.Odd, last = {module}.Even, wrong = {module}.Wrong"
    (directory / "blueprint.conf").write_text(f"blueprint {{ streamlets {{ {refs} }} }}\n")
    return directory


def checked(spark: SparkSession, directory: Path, longest_build: float = 300.0) -> Verification:
    """Verify an application with its logic."""
    check = LogicChecker(spark, directory / "scratch", longest_build=longest_build)
    return verify("blueprint.conf", catalog=ProjectCatalog(), environment={}, working_directory=directory, logic=check)


@pytest.mark.spark
@pytest.mark.parametrize("case", BODIES)
def test_the_others_are_checked(case: str, spark: SparkSession, tmp_path: Path) -> None:
    """There is one finding for the odd streamlet, and one for a mistake of another one after it."""
    body, code, headline = BODIES[case]
    verification = checked(spark, application(tmp_path, body), 3.0 if "endless" in case else 300.0)
    found = {finding.headline.split("`")[1]: finding for finding in verification.diagnostics}
    assert len(verification.diagnostics) == len(found) == 2, [item.headline for item in verification.diagnostics]
    assert (found["odd"].code, found["odd"].headline.startswith(f"`odd`: {headline}")) == (code, True), found["odd"]
    assert found["odd"].primary is not None and found["odd"].primary.span.file.endswith(".py")
    assert found["wrong"].code in ("logic-raises", "unknown-column")
    assert set(verification.queries) == {"first", "last"}


@pytest.mark.spark
def test_real_time_over_a_source_without_it(spark: SparkSession, tmp_path: Path) -> None:
    """It is one finding, with the source and the sink as reasons, in Python and in the view of a SQL job alike."""
    verification = checked(spark, application(tmp_path, "pass", 'real_time("5 minutes")'))
    (found,) = (item for item in verification.diagnostics if item.code == "real-time-plan")
    assert found.causes == ("real-time mode does not support the source `rate`",)
    job = tmp_path / "job.sql"
    job.write_text(
        "CREATE STREAM ticks FROM rate;\nCREATE TEMPORARY VIEW odd AS SELECT * FROM ticks WHERE value % 2 = 1;\n"
        "SAVE STREAM odd TO console TRIGGER REAL TIME 5 MINUTES OUTPUT MODE UPDATE;\n"
    )
    verification = verify(
        "job.sql", catalog=ProjectCatalog(), environment={}, working_directory=tmp_path,
        logic=LogicChecker(spark, tmp_path / "again"),
    )  # fmt: skip
    (found,) = verification.diagnostics
    assert (found.code, found.primary and found.primary.span.line) == ("real-time-plan", 3)
    assert found.causes == (
        "real-time mode does not support the source `rate`",
        "real-time mode does not support functions of batches (`foreachBatch`)",
    )


@pytest.mark.slow
@pytest.mark.spark
def test_a_logic_that_ends_sparks_process(tmp_path: Path) -> None:
    """It is a finding at its line, and a Spark that is started again checks the other streamlets."""
    path = str(application(tmp_path, KILL))
    command = [sys.executable, "-m", "cli.main", "verify", "--plans", "--format", "concise", path]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ}, timeout=600)
    assert run.returncode == 1, run.stderr
    assert "error[logic-raises]: `odd`: the logic has ended Spark, or its process" in run.stdout
    assert "error[unknown-column]: `wrong`: there is no column `nothing`" in run.stdout
    assert "2 errors; checked 4 streamlets with their logic" in run.stdout


def test_ctrl_c_is_not_a_finding() -> None:
    """Ctrl-C ends the command, while a `KeyboardInterrupt` of the author is an error like others."""
    signals = Signals()
    signals.raise_interrupt(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt), signals.watching():
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()
    with pytest.raises(KeyboardInterrupt):
        signals.raise_interrupt(KeyboardInterrupt())
