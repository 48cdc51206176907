"""An archive of Java's classes, with which each Spark of the tests starts with half the processor time.

    python -m tests.java_archive    make it, in .venv; `make test` does so once per environment

For the smallest query, Java reads and checks thousands of classes. An archive has them ready (class data sharing). It
belongs to the jars of one environment; a Java with other jars, such as Kafka's, starts without it.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from streamlets.testkit import Testkit, start_session

ARCHIVE = Path(sys.prefix) / ".spark-classes"
_APPLICATION = Path(__file__).parent / "streamlets" / "runner" / "app" / "blueprint.conf"
_SILENT = ("-Xlog:disable", "-Xlog:all=error:stderr")


def java_options() -> list[str]:
    """Return the options of every Java process of the tests.

    Their runs are short: Java's second compiler would cost a third more processor time, and pay off after minutes.
    """
    archive = (f"-XX:SharedArchiveFile={shlex.quote(str(ARCHIVE))}", *_SILENT) if ARCHIVE.exists() else ()
    return ["-XX:TieredStopAtLevel=1", *archive]


def main() -> None:
    """Run a small application with queries of all common kinds; when Java exits, it archives the classes."""
    from pyspark import SparkContext

    unfinished = ARCHIVE.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    os.environ["JAVA_TOOL_OPTIONS"] = " ".join((f"-XX:ArchiveClassesAtExit={shlex.quote(str(unfinished))}", *_SILENT))
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "in").mkdir()
        (root / "in" / "numbers.json").write_text("".join(json.dumps({"n": n}) + "\n" for n in range(100)))
        session = start_session(directory=root)
        gateway: Any = SparkContext._gateway
        settings = {"numbers.parameters.directory": root / "in", "archive.parameters.options.path": root / "out"}
        with Testkit(session, root / "kit") as kit:
            arguments = [f"flow.streamlets.{key}={value}" for key, value in settings.items()]
            kit.application(_APPLICATION, arguments=arguments).step()
        session.stop()
        gateway.proc.stdin.close()
        gateway.proc.wait()
    if unfinished.exists():
        unfinished.replace(ARCHIVE)
    else:
        print("this Java makes no archive of its classes; the tests take longer", file=sys.stderr)


if __name__ == "__main__":
    main()
