"""Archives the classes of Java that Spark uses, once per environment, so that each Spark starts in less time.

`prepare` runs this module in a process of its own, whose Java writes the archive when it exits.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamlets.checks import Check

SUBJECT = "Java's classes"
_BLUEPRINT = Path(__file__).parent / "templates" / "minimal" / "blueprint.conf"
_PATIENCE = 600.0


def check() -> Check:
    """Report whether there is an archive."""
    from streamlets.checks import Check, State
    from streamlets.spark.class_archive import archive_of
    from streamlets.spark.spark_home import installed_home

    if archive_of(installed_home()).exists():
        return Check(SUBJECT, State.OK, "archived")
    return Check(SUBJECT, State.OK, "not archived", "run `flow doctor --prepare`, so that Spark starts in less time")


def prepare() -> Check:
    """Make the archive of this environment, and delete archives of environments that no longer exist."""
    from streamlets.checks import Check, State
    from streamlets.spark.class_archive import archive_of
    from streamlets.spark.spark_home import delete_stale_homes, installed_home

    delete_stale_homes()
    archive = archive_of(installed_home())
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=archive.parent) as directory:
            unfinished = Path(directory, archive.name)
            done = subprocess.run(
                (sys.executable, "-P", "-m", "cli.spark_classes", unfinished),
                capture_output=True, text=True, timeout=_PATIENCE, check=False,
            )  # fmt: skip
            if not unfinished.exists():
                reason = (done.stderr.strip() or "this Java makes no archives").rpartition("\n")[2]
                return Check(SUBJECT, State.WARNING, f"not archived: {reason}")
            unfinished.replace(archive)
    except subprocess.TimeoutExpired:
        patience = f"{_PATIENCE / 60:g} minutes"
        return Check(
            SUBJECT,
            State.WARNING,
            f"not archived: Spark did not run and exit within {patience}",
            "run `flow doctor --prepare` again when the machine is less busy",
        )
    except OSError as error:
        return Check(SUBJECT, State.WARNING, f"not archived: {error}")
    return Check(SUBJECT, State.OK, f"archived in {archive}, {archive.stat().st_size // 2**20} MiB")


def record(archive: Path) -> None:
    """Run a small application with queries of the common kinds, and have Java write the archive."""
    from pyspark import SparkContext

    from streamlets.spark.class_archive import recording_options
    from streamlets.testkit import Testkit, start_session

    with tempfile.TemporaryDirectory() as directory:
        options = " ".join(recording_options(archive))
        session = start_session(settings={"spark.driver.extraJavaOptions": options}, directory=directory)
        java = SparkContext._gateway.proc  # type: ignore[union-attr]  # noqa: SLF001 - there is no public way
        arguments = ("blueprint.streamlets.screen.parameters { to = parquet, options.path = out }",)
        with Testkit(session, Path(directory, "kit")) as kit:
            kit.application(_BLUEPRINT, arguments=arguments).step()
        session.stop()
        java.stdin.close()
        java.wait()


if __name__ == "__main__":
    record(Path(sys.argv[1]))
