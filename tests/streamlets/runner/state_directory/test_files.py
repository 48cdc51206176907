"""The table of the kinds of files in a state directory."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from streamlets.runner.state_directory.files import FILES, kind_of, table

PAGE = Path(__file__).parents[4] / "docs" / "state-directory.md"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("lock", "lock"),
        ("topics/a/_topic.json", "id of a topic"),
        ("topics/a/f00/_delta_log/00000000000000000000.json", "first commit of a table"),
        ("topics/a/f00/_delta_log/00000000000000000007.json", "commit"),
        ("topics/a/f00/_delta_log/.00000000000000000007.json.77.tmp", "draft of a commit"),
        ("topics/a/f00/data/q/0/1-0/part-0.parquet", "records"),
        ("topics/a/f00/data/q/0/1-0/.part-0.parquet.crc", "checksum of records"),
        ("checkpoints/s/q/offsets/12", "plan of a batch"),
        ("checkpoints/s/q/offsets/.12.crc", "checksum of a checkpoint"),
        ("checkpoints/s/q/state/0/1/3.zip", "state"),
    ],
)
def test_the_kind_of_a_file(path: str, kind: str) -> None:
    """A file is of the first kind whose pattern matches its path."""
    found = kind_of(PurePosixPath(path))
    assert found is not None
    assert found.name == kind


def test_files_of_no_kind() -> None:
    """Other files of the state directory are not known."""
    assert kind_of(PurePosixPath("topics/readme.txt")) is None
    assert kind_of(PurePosixPath("notes.txt")) is None


def test_names_are_unique() -> None:
    """Each kind has a name of its own."""
    assert len({kind.name for kind in FILES}) == len(FILES)


def test_the_page_has_the_table() -> None:
    """The documentation has a row for each kind. To update it, replace its table by the output of `table`."""
    assert table() in PAGE.read_text(encoding="utf-8")
