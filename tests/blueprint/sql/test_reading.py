"""Properties of the reader of jobs: places are in the text, nothing raises, and rendered statements mean the same."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprint.diagnostics import Diagnostic
from blueprint.diagnostics.full import render_full
from blueprint.hocon.source import Source
from blueprint.sql.literals import name_text, string_literal
from blueprint.sql.parser import parse
from blueprint.sql.rendering import render
from blueprint.verification.verify import verify
from streamlets.project.catalog import ProjectCatalog
from tests.blueprint.sql.jobs import DOCUMENT, VARIABLES, cases, findings_of
from tests.random_examples import examples

TEXTS = [case.text for case in cases(DOCUMENT.read_text(encoding="utf-8"))]
ROOT = Path(__file__).resolve().parents[3]
WHOLE_JOBS = [
    *(job.read_text(encoding="utf-8") for job in sorted((ROOT / "examples/jobs").glob("*.sql"))),
    *(
        block
        for block in re.findall(
            r"^```sql job\.sql\n(.*?)^```$", (ROOT / "tests/diagnostics/sql.md").read_text(), re.M | re.S
        )
    ),
]
PIECES = [
    *"';`\"\\(),=-/*.$\n ", "--", "/*", "*/", "${", "}", "r'", "$$", "\u00e9",
    "SAVE STREAM", "TO", "OPTIONS (", "TRIGGER",
]  # fmt: skip


def mutated(text: str, chance: random.Random) -> str:
    """Return a text with one to three pieces removed, inserted, doubled or swapped."""
    for _ in range(chance.randint(1, 3)):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.randint(0, 8))
        match chance.randint(0, 3):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:start] + chance.choice(PIECES) + text[start:]
            case 2:
                text = text[:end] + text[start:]
            case _:
                other = chance.choice(TEXTS)
                text = text[:start] + other[chance.randint(0, len(other)) :]
    return text


def assert_inside(found: Diagnostic, text: str) -> None:
    """Check that all places of a finding are in the text, and not backwards."""
    lines = text.split("\n")
    assert found.primary is not None
    for label in (found.primary, *found.secondary):
        span = label.span
        assert 1 <= span.line <= span.end_line <= len(lines), (found, text)
        assert 1 <= span.column <= len(lines[span.line - 1]) + 1, (found, text)
        assert 1 <= span.end_column <= len(lines[span.end_line - 1]) + 1, (found, text)
        assert (span.line, span.column) <= (span.end_line, span.end_column), (found, text)


def check_mutations(number: int, seed: int) -> None:
    """Check mutated jobs: there are only findings, with places in the text; statements without any keep their meaning
    when they are rendered and read again."""
    chance = random.Random(seed)
    for _ in range(number):
        text = mutated(chance.choice(TEXTS), chance)
        statements, findings = findings_of(text)
        for found in findings:
            assert_inside(found, text)
        assert len(findings) <= 60
        if not parse(Source("job.sql", text), VARIABLES).findings:
            again = parse(Source("rendered.sql", render(statements)), VARIABLES)
            assert again.findings == (), (text, render(statements))
            assert again.statements == statements, text


def test_some_mutated_jobs() -> None:
    """A few hundred mutated jobs in the gate."""
    check_mutations(examples(400), seed=13)


@pytest.mark.full
def test_many_mutated_jobs() -> None:
    """5,000 mutated jobs, others in each run."""
    check_mutations(5000, seed=random.SystemRandom().randint(0, 2**32))


def check_mutated_files(number: int, seed: int, directory: Path) -> None:
    """Check `flow verify` of mutated job files: a report, with places in the file unless they are in no text."""
    chance, file = random.Random(seed), directory / "job.sql"
    environment = {".".join(path): value for path, value in VARIABLES.items()} | {
        "data": "in",
        "out": "out",
        "database": "sqlite:x",
    }
    for _ in range(number):
        text = mutated(chance.choice(WHOLE_JOBS), chance)
        file.write_bytes(text.encode())
        verification = verify("job.sql", catalog=ProjectCatalog(), environment=environment, working_directory=directory)
        assert verification.ok == (verification.plan is not None), text
        for diagnostic in verification.diagnostics:
            assert diagnostic.primary is None or diagnostic.primary.span.file == "job.sql", (diagnostic, text)
            if diagnostic.primary is not None:
                assert_inside(diagnostic, text)
        assert render_full(verification, width=80)


def test_some_mutated_job_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole files are verified with the sinks and sources of the installation."""
    monkeypatch.chdir(tmp_path)
    check_mutated_files(examples(100), seed=13, directory=tmp_path)


@pytest.mark.full
def test_many_mutated_job_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of files, others in each run."""
    monkeypatch.chdir(tmp_path)
    check_mutated_files(3000, seed=random.SystemRandom().randint(0, 2**32), directory=tmp_path)


@given(st.text(max_size=200))
@settings(max_examples=examples(100))
def test_any_text_gives_findings_at_most(text: str) -> None:
    """A text of any characters raises nothing."""
    for found in findings_of(text)[1]:
        assert_inside(found, text)


@given(st.one_of(st.text(max_size=20), st.text("'\\\"`${}%_;nu0", max_size=8)))
@settings(max_examples=examples(100))
def test_literals_have_the_value_that_was_written(value: str) -> None:
    """Any option value and any name survives being written and read."""
    name = re.sub(r"\$\{+", "$", value) or "x"
    option = f"{string_literal('k' + value)} = {string_literal(value)}"
    text = f"SAVE STREAM a.{name_text(name)} TO {name_text(name)} OPTIONS ({option})"
    script = parse(Source("job.sql", text))
    assert script.findings == ()
    (save,) = script.statements
    assert (save.table.last, save.options[0].key.text, save.options[0].value.text) == (name, "k" + value, value)  # type: ignore[union-attr]


def test_a_mistake_in_one_statement_leaves_the_others() -> None:
    """Statements before and after a mistake are read, and mistakes in several statements are all reported."""
    text = "SAVE STREAM a TO x;\nSAVE STREAM b OT x;\nSAVE STREAM c TO x TRIGGER;\nSAVE STREAM d TO x"
    script = parse(Source("job.sql", text))
    assert [statement.table.last for statement in script.statements] == ["a", "d"]  # type: ignore[union-attr]
    assert [found.primary.span.line for found in script.findings if found.primary] == [2, 3]


def test_a_damaged_text_ends_after_some_findings() -> None:
    """A text with thousands of mistakes is not read to its end."""
    assert len(parse(Source("job.sql", "SAVE;\n" * 10_000)).findings) == 30
    assert len(parse(Source("job.sql", "SAVE STREAM a TO x OPTIONS ('" * 10_000)).findings) == 1


def test_places_of_spark_statements_follow_their_variables() -> None:
    """For each part of a statement, its offset in the job is known, although variables have other lengths."""
    text = "CREATE TEMP VIEW v AS SELECT '${dir}', ${n}, wrong"
    (view,) = parse(Source("job.sql", text), VARIABLES).statements
    at = view.text.index("wrong")  # type: ignore[union-attr]
    start, origin = max(place for place in view.places if place[0] <= at)  # type: ignore[union-attr]
    assert text[origin + at - start :] == "wrong"


def test_variables_are_found_with_their_places() -> None:
    """Variables in strings, in names and alone are found; those in comments are not."""
    text = "SAVE STREAM `${a}` TO x OPTIONS ('p' = '${?b.c}/${ d }', 'q' = ${e}) -- ${f}"
    variables = parse(Source("job.sql", text)).variables
    assert [(text[each.start : each.end], each.path) for each in variables] == [
        ("${a}", ("a",)), ("${?b.c}", ("b", "c")), ("${ d }", ("d",)), ("${e}", ("e",)),
    ]  # fmt: skip
