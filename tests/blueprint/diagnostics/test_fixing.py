"""Fixes as edits of a text: which are compatible, and that the rest of the text stays unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blueprint.diagnostics import Diagnostic, Edit, Fix, FixKind, Span, finding
from blueprint.diagnostics.fixing import MisfitError, apply, choose
from blueprint.verification.verify import Verification, verify
from tests.blueprint.paper import PaperCatalog, record, streamlet
from tests.random_examples import examples

READING = record("Reading", src="string")
CATALOG = PaperCatalog(
    streamlet("app.Gauges", outlets={"out": READING}),
    streamlet("app.Archive", inlets={"in": READING}),
)


def edit(line: int, column: int, end: int, text: str, file: str = "a.conf") -> Edit:
    """Replace columns of one line."""
    return Edit(Span(file, line, column, line, end), text)


def fixing(*edits: Edit) -> Diagnostic:
    """Return a finding with a fix."""
    return finding("unknown-key", "a slip", edits[0].span, fix=Fix(FixKind.RENAME_KEY, "fix it", edits))


def test_overlapping_fixes_are_not_made_together() -> None:
    """The first fix is chosen as a whole, the one that overlaps it not at all."""
    first, second, third = (
        fixing(edit(1, 1, 4, "x"), edit(3, 1, 2, "x")),
        fixing(edit(1, 3, 6, "y"), edit(2, 1, 2, "y")),
        fixing(edit(1, 4, 6, "z")),
    )
    chosen = choose((first, second, third, finding("cycle", "without a fix")))
    assert chosen.fixed == (first, third)
    assert chosen.passed == (second,)
    assert chosen.edits == {"a.conf": (edit(1, 1, 4, "x"), edit(1, 4, 6, "z"), edit(3, 1, 2, "x"))}


def test_equal_edits_are_made_once() -> None:
    """Two findings with the same edit are both fixed by it."""
    chosen = choose((fixing(edit(1, 1, 4, "x")), fixing(edit(1, 1, 4, "x"))))
    assert len(chosen.fixed) == 2
    assert chosen.edits == {"a.conf": (edit(1, 1, 4, "x"),)}


def test_comments_inside_replaced_text_are_kept() -> None:
    """They are before the new text, in its column; a `#` in a string is not a comment."""
    text = 'a {\n  b { # one\n    "x#y" = 1 // two\n  }\n}\n'
    made = apply(text, [Edit(Span("a.conf", 2, 3, 4, 4), "c { }")]).text
    assert made == "a {\n  # one\n  // two\n  c { }\n}\n"


def test_an_edit_outside_the_text_is_rejected() -> None:
    """A file that was changed after verification is not edited."""
    for bad in (edit(9, 1, 2, "x"), edit(1, 1, 99, "x"), edit(1, 9, 10, "x")):
        with pytest.raises(MisfitError):
            apply("short\n", [bad])


SLIPS = (
    ("consumers =", "consumer ="),
    ("gauges.out", "gagues.out"),
    ("archive.in]", "archiv.in]"),
    ("[gauges.out]", "gauges.out"),
    ("topics {", "topcs {"),
)
NOISE = st.lists(
    st.sampled_from(("", "  # größer", "  // 字 and 🚀", "\t", "  # \u00e9\u0301")), min_size=6, max_size=6
)


def written(slips: frozenset[int], noise: list[str], *, crlf: bool, mark: bool) -> str:
    """Return a blueprint with some slips, between comments in many scripts."""
    lines = ["blueprint {", "  streamlets { gauges = app.Gauges, archive = app.Archive }", "  topics {",
             "    readings { producers = [gauges.out], consumers = [archive.in] }", "  }", "}"]  # fmt: skip
    text = "\n".join(line + extra for line, extra in zip(lines, noise, strict=True)) + "\n"
    for index in sorted(slips):
        text = text.replace(*SLIPS[index], 1)
    return ("\ufeff" if mark else "") + (text.replace("\n", "\r\n") if crlf else text)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.frozensets(st.sampled_from(range(len(SLIPS))), min_size=1), NOISE, st.booleans(), st.booleans())
def test_fixed_text_is_the_correct_text(
    tmp_path: Path, slips: frozenset[int], noise: list[str], crlf: bool, mark: bool
) -> None:
    """After fixing there is no finding, the rest is unchanged byte for byte, and fixing again changes nothing."""
    file = tmp_path / "blueprint.conf"
    file.write_bytes(written(slips, noise, crlf=crlf, mark=mark).encode())
    for _ in range(len(SLIPS)):
        chosen = choose(verified(file).diagnostics)
        for name, edits in chosen.edits.items():
            Path(name).write_bytes(apply(Path(name).read_bytes().decode(), edits).text.encode())
        if not chosen.fixed:
            break
    assert verified(file).diagnostics == ()
    assert file.read_bytes().decode() == written(frozenset(), noise, crlf=crlf, mark=mark)


def verified(file: Path) -> Verification:
    """Return what is found in a blueprint of streamlets on paper."""
    return verify(file, catalog=CATALOG, environment={}, working_directory=file.parent)
