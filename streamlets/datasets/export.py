"""Exporting records of a topic to a file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO

from streamlets.datasets.formats import FileFormat
from streamlets.datasets.topic_records import TopicRecords


def export_to(
    stream: IO[bytes], records: TopicRecords, form: FileFormat, report: Callable[[int], None] = lambda written: None
) -> int:
    """Write records to a stream, and return their number.

    Arguments:
        stream: takes the bytes.
        records: the records.
        form: the format to write.
        report: called after each part with the number of records written so far.

    Raises:
        TopicLostError: the topic does not exist.
        UnreadableRecordsError: records cannot be read with the contract.
        OSError: the stream cannot be written.
    """
    written = 0
    with form.writer(stream, records.contract) as write:
        for batch in records.batches():
            if batch.num_rows:
                write(batch)
                written += batch.num_rows
                report(written)
    return written


def export(
    file: Path, records: TopicRecords, form: FileFormat, *, overwrite: bool,
    report: Callable[[int], None] = lambda written: None,
) -> int:  # fmt: skip
    """Write records to a file, which appears when it is complete and durable, and return their number.

    Arguments:
        file: its path; the directory must exist. Of a link, its target is written.
        records, form, report: as for `export_to`.
        overwrite: whether a file that exists is replaced. It keeps its permissions.

    Raises:
        FileExistsError: the file exists, and is not to be replaced, or it is something else than a file.
        TopicLostError, UnreadableRecordsError, OSError: as for `export_to`; the file is as it was.
    """
    file = Path(os.path.realpath(file))  # unlike `Path.resolve`, it has no error for a link to itself
    exists = os.path.lexists(file)
    if exists and (not overwrite or not file.is_file()):
        raise FileExistsError(str(file))
    draft = _draft(file)
    try:
        with draft.open("wb") as stream:
            written = export_to(stream, records, form, report)
            stream.flush()
            os.fsync(stream.fileno())
        if exists:
            draft.chmod(stat.S_IMODE(file.stat().st_mode))
        if overwrite:
            draft.replace(file)
        else:
            file.hardlink_to(draft)  # unlike a rename, it never replaces a file that was created in the meantime
    finally:
        draft.unlink(missing_ok=True)
    return written


def _draft(file: Path) -> Path:
    return file.with_name(f".{file.name}.{os.getpid()}")
