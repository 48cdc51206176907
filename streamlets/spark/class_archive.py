"""An archive of Java's classes, with which Spark starts in half the processor time.

For the smallest query, Java reads and verifies thousands of classes. An archive has them ready (application class data
sharing). It fits one Java and one class path; another Java ignores it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_NAME = "classes.jsa"
_OWN = ("-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit", "-Xshare")
_QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")
"""Without them, Java warns on its standard output that an archive does not fit."""


def archive_of(home: Path) -> Path:
    """Return the path of the archive of a Spark home, which may not exist."""
    return home / _NAME


def archive_options(home: Path | None, options: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the Java options with which a Spark uses the archive of its home, if there is one.

    Arguments:
        home: the home that Spark starts from; None if it is not one of ours.
        options: other Java options; those about archives win.
    """
    if home is None or not archive_of(home).is_file() or any(option.startswith(_OWN) for option in options):
        return ()
    return (f"-XX:SharedArchiveFile={archive_of(home)}", *_QUIET)


def recording_options(archive: Path) -> tuple[str, ...]:
    """Return the options of a Java that writes an archive of the classes it has used when it exits."""
    return (f"-XX:ArchiveClassesAtExit={archive}", *_QUIET)
