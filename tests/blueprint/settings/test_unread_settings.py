"""Settings that nothing reads are findings that suggest the setting that was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.verification.verify import verify
from tests.blueprint.verification.rules.test_seeded_mistakes import CATALOG, RIGHT

RATE = "`flow.streamlets.east.parameters.rate` or `flow.streamlets.west.parameters.rate`"


def unread(directory: Path, *arguments: str, conf: str = "", more: str = "") -> list[tuple[str, tuple[str, ...]]]:
    """Return headline and help of each finding."""
    (directory / "blueprint.conf").write_text(RIGHT + more, encoding="utf-8")
    (directory / "a.conf").write_text(conf, encoding="utf-8")
    verification = verify(
        directory / "blueprint.conf",
        catalog=CATALOG,
        conf_files=[directory / "a.conf"] if conf else [],
        arguments=arguments,
        environment={},
        working_directory=directory,
    )
    assert {diagnostic.code for diagnostic in verification.diagnostics} <= {"unknown-setting"}
    return [(diagnostic.headline, diagnostic.help) for diagnostic in verification.diagnostics]


@pytest.mark.parametrize(
    ("argument", "help"),
    [
        ("parameters.rate=3", f"did you mean {RATE}?"),
        ("rate=3", f"did you mean {RATE}?"),
        ("east.parameters.rate=3", "did you mean `flow.streamlets.east.parameters.rate`?"),
        ("east.rate=3", "did you mean `flow.streamlets.east.parameters.rate`?"),
        ("pairs.retention.time=1 day", "did you mean `flow.topics.pairs.retention.time`?"),
        ("flw.trigger=available-now", "did you mean `flow`?"),
        ("colour=red", "settings begin with `flow.`"),
        ("a.b.c=1", "settings begin with `flow.`"),
    ],
)
def test_an_argument_that_nothing_reads_is_reported(tmp_path: Path, argument: str, help: str) -> None:
    """An argument without its prefix is not ignored silently."""
    key = argument.partition("=")[0]
    assert [helps for _, helps in unread(tmp_path, argument)] == [(help,)], key


def test_an_argument_that_a_substitution_reads_is_not_reported(tmp_path: Path) -> None:
    """Substitutions in the blueprint and in files may use keys of the user's, and parts of their values."""
    more = "flow.streamlets.west.parameters = ${mine.west}\n"
    assert unread(tmp_path, "mine.west.rate=3", more=more) == []
    conf = "flow.streamlets.west.parameters.rate = ${?rate}"
    assert unread(tmp_path, "rate=3", conf=conf) == []
    assert [headline for headline, _ in unread(tmp_path, "rate=3", "rat=4", conf=conf)] == [
        "nothing reads the setting `rat`"
    ]


def test_files_may_have_sections_of_their_own(tmp_path: Path) -> None:
    """Applications share files; only settings without their prefix are reported."""
    assert unread(tmp_path, conf="stations { oslo = OSL }\ncolour = red\nrate = 3\neast.x = 1") == []
    assert unread(tmp_path, conf="parameters.rate = 3") == [
        ("nothing reads the setting `parameters.rate`", (f"did you mean {RATE}?",))
    ]
    assert unread(tmp_path, conf="retry.enabled = false") == [
        ("nothing reads the setting `retry.enabled`", ("did you mean `flow.retry.enabled`?",))
    ]
