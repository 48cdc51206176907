"""Verification of a text that an editor changes reuses what was read before, with the same result as from scratch."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from blueprint.hocon import ObjectValue, parse_file, resolve
from blueprint.hocon.blocks import Blocks, EditedTexts
from blueprint.verification.verify import verify
from tests.blueprint.verification.test_mutations import CATALOG, TEXT, mutated
from tests.random_examples import examples

LAYOUTS = """\
top { a = 1, b { c = [x, {d = 2}, [3]] } } { e = 4 }
top.b.c += 5
top { b { f.g = 6 }, b { f.h = 7 } }
  outer {
 inner { text = "a } b" }
}
twice { one = 1 }
twice { one { two = 2 } }
twice.one { three = 3 }
list = [{ a = 1 }, { a = 2 }] [{ a = 3 }]
linked { from = ${top.b}, again = ${twice} { two = 4 } }
include "other.conf"
"""
OTHER = "other { x { y = 1 }, z { y = ${?other.x.y} } }\ntwice { one { four = 4 } }\n"
EDITS = 60


class Files:
    """Two files that an editor changes, of which the first includes the second."""

    def __init__(self, directory: Path, text: str = LAYOUTS) -> None:
        self.texts = {directory / "blueprint.conf": text, directory / "other.conf": OTHER}
        for file, content in self.texts.items():
            file.write_text(content, encoding="utf-8")
        self.first, self.second = self.texts
        self.blocks: dict[Path, Blocks] = {}

    @property
    def edited(self) -> EditedTexts:
        """The texts, with what was read of their earlier versions."""
        return EditedTexts(self.texts, self.blocks)

    def resolved(self) -> ObjectValue:
        """Return the value of the texts, after a check that it is that of reading them from scratch."""
        again, fresh = (parse_file(self.first, texts) for texts in (self.edited, self.texts))
        assert again.diagnostics == fresh.diagnostics
        assert resolve([again], {}) == resolve([fresh], {})
        return resolve([again], {})[0]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Return two files in the working directory."""
    monkeypatch.chdir(tmp_path)
    return Files(tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_edited_texts_are_read_as_from_scratch(seed: int, files: Files) -> None:
    """Values, their places and all findings are the same after each of many edits, some of which are undone."""
    chance = random.Random(seed)
    valid = dict(files.texts)
    for _ in range(examples(EDITS)):
        file = chance.choice([files.first, files.first, files.second])
        files.texts[file] = mutated(chance.choice([files.texts[file], valid[file]]), chance)
        files.resolved()
        if chance.random() < 0.5:
            files.texts[file] = valid[file]
            files.resolved()


@pytest.mark.parametrize("seed", range(2))
def test_each_letter_that_is_typed(seed: int, files: Files) -> None:
    """A text that is written letter by letter, between others, is read as from scratch after each."""
    chance = random.Random(seed)
    for _ in range(2):
        begin, text = chance.choice([at for at, mark in enumerate(LAYOUTS) if mark == "\n"]), LAYOUTS
        for letter in "\nnew { a = [1, 2], b { c = 3 } }\n":
            begin, text = begin + 1, text[:begin] + letter + text[begin:]
            files.texts[files.first] = text
            files.resolved()


def test_values_that_did_not_change_are_the_same_objects(files: Files) -> None:
    """After an edit, an object elsewhere is neither read nor resolved again, but those around the edit are."""
    files.texts[files.first] = "above { a { b = 1 } }\nchanged { c = 1, d { e = 1 } }\nbelow { f = [1] }\n"
    before = files.resolved()
    files.texts[files.first] = files.texts[files.first].replace("c = 1", "c = 2")
    after = files.resolved()
    assert after.fields["above"] is before.fields["above"]
    assert after.fields["below"] is before.fields["below"]
    assert after.get("changed", "d") is before.get("changed", "d")
    assert after.fields["changed"] != before.fields["changed"]


def test_an_object_that_is_extended_elsewhere_stays_as_it_is(files: Files) -> None:
    """Merging an object with another one of its key does not change the object that is reused."""
    files.texts[files.first] = "x { y { a = 1 } }\n\n"
    before = files.resolved()
    files.texts[files.first] = "x { y { a = 1 } }\nx.y.b = 2\n"
    assert files.resolved() != before
    files.texts[files.first] = "x { y { a = 1 } }\n\n"
    assert files.resolved() == before


def test_the_key_of_an_object_may_change(files: Files) -> None:
    """An object at the same place has the place of its new key."""
    for text in ("ab  { c = 1 }", "abcd{ c = 1 }", "abcd { c = 1 }", "[  ]", "x = [{ c = 1 }]", "x =  { c = 1 }"):
        files.texts[files.first] = text
        files.resolved()


def test_what_is_kept_does_not_grow_with_the_edits() -> None:
    """Objects at places where the text no longer has any are forgotten."""
    blocks = Blocks()
    path = Path("blueprint.conf").resolve()
    for lines in range(200):
        parse_file(path, EditedTexts({path: "\n" * lines + "a { b { c = 1 } }"}, {path: blocks}))
    assert len(blocks) < 20


@pytest.mark.parametrize("seed", range(4))
def test_verification_of_edits_is_that_from_scratch(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All findings, and what the rules check, are the same after each of many edits."""
    monkeypatch.chdir(tmp_path)
    files, chance = Files(tmp_path, TEXT), random.Random(seed)
    for _ in range(examples(EDITS)):
        files.texts[files.first] = mutated(chance.choice([files.texts[files.first], TEXT]), chance)
        again, fresh = (
            verify(files.first, catalog=CATALOG, environment={}, working_directory=tmp_path, texts=texts)
            for texts in (files.edited, files.texts)
        )
        assert again.diagnostics == fresh.diagnostics
        assert again.checked == fresh.checked
        assert again.graph == fresh.graph
        assert (again.plan is None, again.settings) == (fresh.plan is None, fresh.settings)
