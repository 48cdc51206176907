"""Secrets that batch sources and triggerers read, and the texts that do not show them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blueprint.settings.secret_sources import secrets_of_values
from blueprint.settings.secret_texts import SECRET
from blueprint.settings.secrets import Secrets, without_secret_differences, without_secrets
from streamlets.ingress.batch_sources.context import SourceContext
from streamlets.ingress.triggerers import TriggererContext


@pytest.mark.parametrize("context", [SourceContext, TriggererContext])
def test_a_context_reads_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: type[SourceContext] | type[TriggererContext]
) -> None:
    """From a variable or a file; from then on texts do not show them. The names of both are shown."""
    monkeypatch.setenv("API_TOKEN", "tulip-7788")
    (tmp_path / "token").write_text("rose-1122\n")
    secrets = Secrets()
    of = context(streamlet="pages", directory=tmp_path, secrets=secrets)
    assert of.secret({"env": "API_TOKEN"}) == "tulip-7788"
    assert of.secret({"file": "token"}) == "rose-1122"
    text = "tulip-7788, rose-1122, the environment variable `API_TOKEN` is not set"
    assert secrets.masked(text) == f"{SECRET}, {SECRET}, the environment variable `API_TOKEN` is not set"
    with pytest.raises(FileNotFoundError, match="the environment variable `NONE` is not set"):
        of.secret({"env": "NONE"})
    for setting in ("tulip-7788", {"password": "x"}, {}):
        with pytest.raises(ValueError, match=r"must be `\{ env = NAME \}` or `\{ file = PATH \}`$"):
            of.secret(setting)


def test_a_replaced_file_is_read_again(tmp_path: Path) -> None:
    """The new value is masked at once, and the old one still."""
    file = tmp_path / "token"
    secrets = Secrets()
    secrets.follow(file)
    assert secrets.masked("rose-1122") == "rose-1122"  # there is no file yet
    file.write_text("rose-1122\n")
    assert secrets.masked("rose-1122") == SECRET
    (tmp_path / "new").write_text("first line\nlily-3344\n")
    (tmp_path / "new").rename(file)
    assert secrets.masked("rose-1122 lily-3344") == f"{SECRET} {SECRET}"


def test_other_notations_are_masked() -> None:
    """Values as JSON and URLs write them."""
    secrets = Secrets(['pa"ss/w\u00f6rd'])
    assert secrets.masked('{"x": "pa\\"ss/w\\u00f6rd"} or https://h/?x=pa%22ss%2Fw%C3%B6rd') == (
        f'{{"x": "{SECRET}"}} or https://h/?x={SECRET}'
    )


def test_places_of_secrets_are_not_secrets() -> None:
    """Their names appear in messages and descriptors; a value next to them does not."""
    secrets: Any = {"TOKEN": {"env": "API_TOKEN"}, "KEY": {"file": "/run/key", "as": "path"}}
    assert without_secrets("secrets", secrets) == secrets
    assert list(secrets_of_values({"secrets": secrets})) == []
    assert without_secrets("secrets", {**secrets, "PLAIN": "x"}) == SECRET
    assert without_secrets("headers", {"env": {"X": "y"}}) == SECRET


def test_variables_of_secret_options_are_secrets() -> None:
    """Whatever their names are."""
    statement = "SAVE STREAM a TO jdbc OPTIONS ('password' = '${pg.pw}', 'table' = '${table}')"
    values = {"statements": statement, "variables": {"pg": {"pw": "tulip"}, "table": "orders"}}
    assert set(secrets_of_values(values)) == {"tulip"}


def test_what_another_version_stored_is_not_shown() -> None:
    """A value is compared with one that is masked as if it were masked, too."""
    assert without_secret_differences("old", SECRET) == (SECRET, SECRET)
    assert without_secret_differences({"a": "x", "n": 1}, {"a": SECRET, "n": 2}) == (
        {"a": SECRET, "n": 1}, {"a": SECRET, "n": 2},
    )  # fmt: skip
    assert without_secret_differences([f"--p={SECRET}"], ["--p=old"]) == ([f"--p={SECRET}"],) * 2
    assert without_secret_differences("a", "b") == ("a", "b")
