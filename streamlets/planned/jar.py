"""`planned.jar`: where it is, for which Spark, and how it is built.

    python -m streamlets.planned.jar

compiles the sources with the Java compiler that Spark brings along (Janino), so that no JDK is needed. Janino knows no
lambdas and ignores most of generics. The same sources give the same bytes.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
JAR = _HERE / "planned.jar"
SOURCES = _HERE / "java"
SPARK = "4.3."
"""The versions of Spark whose interfaces the sources use."""

_CLASS_PATH, _JARS = "SPARK_DIST_CLASSPATH", "spark.jars"
_TARGET = 8
_CHANGED = (1980, 1, 1, 0, 0, 0)
"""The time of all entries of the jar, as its bytes must not depend on when it is built."""


def planned_jar() -> Path | None:
    """Return the path of the jar; None if the installed Spark has other interfaces."""
    import pyspark

    return JAR if pyspark.__version__.startswith(SPARK) and JAR.is_file() else None


@contextmanager
def planned_class_path() -> Iterator[None]:
    """Have Spark's launcher add the jar to the class path of the driver until the context is left.

    It is the last entry, so that an archive of Java's classes fits that was made without it (`class_archive.py`).
    """
    before, jar = os.environ.get(_CLASS_PATH), planned_jar()
    if jar is not None:
        os.environ[_CLASS_PATH] = os.pathsep.join(filter(None, (before, str(jar))))
    try:
        yield
    finally:
        if before is not None:
            os.environ[_CLASS_PATH] = before
        else:
            os.environ.pop(_CLASS_PATH, None)


def with_planned_jar(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings of Spark by which the executors of a cluster have the jar.

    Arguments:
        settings: the other settings, with `spark.master`.
    """
    jar = planned_jar()
    if jar is None or settings["spark.master"].startswith("local"):
        return dict(settings)
    return {**settings, _JARS: ",".join(filter(None, (settings.get(_JARS), str(jar))))}


def build(jar: Path, jvm: Any) -> None:
    """Compile the sources into a jar.

    Arguments:
        jar: the path of the jar, which is replaced.
        jvm: the view of a Java process with Spark's class path.
    """
    with tempfile.TemporaryDirectory() as directory:
        compiler = jvm.org.codehaus.janino.CompilerFactory().newCompiler()
        compiler.setDestinationDirectory(jvm.java.io.File(directory), False)
        compiler.setTargetVersion(_TARGET)
        compiler.setClassPath(_files(jvm, jvm.java.lang.System.getProperty("java.class.path").split(":")))
        compiler.compile(_files(jvm, map(str, sorted(SOURCES.glob("*.java")))))
        with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(Path(directory).rglob("*.class")):
                entry = zipfile.ZipInfo(path.relative_to(directory).as_posix(), _CHANGED)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())


def _files(jvm: Any, paths: Iterable[str]) -> Any:
    """Return an array of Java's files."""
    files = [jvm.java.io.File(path) for path in paths]
    array = jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName("java.io.File"), len(files))
    for number, file in enumerate(files):
        array[number] = file
    return array


def main() -> None:
    """Build the jar of this installation."""
    from pyspark.java_gateway import launch_gateway

    gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
    build(JAR, gateway.jvm)
    gateway.shutdown()


if __name__ == "__main__":
    main()
