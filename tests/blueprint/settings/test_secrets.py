"""Which settings are secret, and how texts are masked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from blueprint.diagnostics import Span
from blueprint.settings.secret_texts import SECRET, masked
from blueprint.settings.secrets import Secrets, is_secret_path, secrets_of_values


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        ("flow.streamlets.feed.parameters.password", True),
        ("flow.streamlets.feed.parameters.credentials.user", True),
        ("flow.streamlets.password-check.parameters.rows", False),
        ("blueprint.topics.tokens.producers", False),
        ("flow.runtimes.spark.hadoop.fs.s3a.secret.key", True),
        ("flow.topics.t.connection-config.sasl.jaas.config", True),
        ("db.pwd", True),
        ("flow.streamlets.feed.parameters.key-column", False),
    ],
)
def test_secret_paths(path: str, secret: bool) -> None:
    """A setting is secret by its name; names of streamlets and topics do not count."""
    assert is_secret_path(path.split(".")) is secret


def test_texts_of_a_run_are_masked() -> None:
    """A secret is replaced wherever it is a word of a text, as is user information in URLs; other fields are kept."""

    @dataclass(frozen=True)
    class Event:
        time: float
        cause: str
        frames: tuple[str, ...]

    secrets = Secrets(["hunter2", "hunter2-long", "abc"])
    event = Event(1.0, "cannot log in with hunter2-long at http://me:pw@host; password=x y", ("a.py: hunter2", "b"))
    assert secrets.data(event) == Event(
        1.0, "cannot log in with (secret) at http://(secret)@host; password=(secret) y", ("a.py: (secret)", "b")
    )
    assert secrets.masked("hunter22 abc") == "hunter22 abc"


STATEMENT = """SAVE STREAM s TO jdbc OPTIONS ('url' = 'postgresql://me:pw@h/d', password 'sesame',
 'storage.AWS_SECRET_ACCESS_KEY'='open', `token` "it's", 'sasl.password' = '${PASSWORD}', 'table'='t')"""


def test_options_of_statements_are_masked() -> None:
    """With and without `=`, in all quotes; substitutions and other options are readable."""
    assert masked(STATEMENT) == (
        "SAVE STREAM s TO jdbc OPTIONS ('url' = 'postgresql://(secret)@h/d', password '(secret)',\n"
        " 'storage.AWS_SECRET_ACCESS_KEY'='(secret)', `token` \"(secret)\", 'sasl.password' = '${PASSWORD}',"
        " 'table'='t')"
    )
    assert masked("the password 'x' is expected") == "the password 'x' is expected"
    assert masked('{"password": "abc", "n": "1"}') == '{"password": "(secret)", "n": "1"}'
    lines = [Secrets().line("job.sql", number, line) for number, line in enumerate(STATEMENT.split("\n"), 1)]
    assert [len(line) for line in lines] == [len(line) for line in STATEMENT.split("\n")]
    assert not any(text in "".join(lines) for text in ("sesame", "open", "it's", "me:pw"))
    assert "'sasl.password' = '${PASSWORD}', 'table'='t')" in lines[1]


def test_lines_keep_their_length() -> None:
    """Secrets are found by span, by the key on the line, by value and in URLs; substitutions and code are readable."""
    secrets = Secrets(["hunter2"], [Span("a.conf", 1, 5, 1, 8)])
    lines = ("x = abc", "b { token = abc, c = hunter2 }", '"api-key": "a b"', 'password = "$a:b"', "u = jdbc://a:b@c")
    for line in lines:
        shown = secrets.line("a.conf", 1 if line.startswith("x") else 2, line)
        assert len(shown) == len(line)
        assert "*" in shown
        assert not any(text in shown for text in ("abc", "hunter2", "a b", "a:b"))
    assert secrets.line("a.conf", 2, "password = ${PASSWORD}, n = 1") == "password = ${PASSWORD}, n = 1"
    assert secrets.line("a.py", 2, "token = Parameter()") == "token = Parameter()"


NOTATIONS: tuple[Callable[[str], str], ...] = (
    str, repr, ascii, json.dumps, quote, quote_plus, lambda value: quote(value, safe=""),
    "password={}".format, "password: {}; x=1".format, "token=`{}`".format, "jdbc:x://bob:{}@db/x".format,
    "https://h/p?sig={}&b=2".format, "a{}b".format, "two\nlines {}\n".format,
)  # fmt: skip


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), min_size=8, max_size=20))
def test_a_known_value_is_replaced_whole(value: str) -> None:
    """Also one with characters that end a value elsewhere, in all notations, and inside words."""
    assume(len(value.strip()) >= 8 and value not in SECRET)
    secrets = Secrets([value])
    for notation in NOTATIONS:
        assert value not in secrets.masked(notation(value))
    assert secrets.masked(value) == SECRET


def test_each_line_of_a_value_is_replaced() -> None:
    """Logs are written line by line."""
    secrets = Secrets(["-----BEGIN KEY-----\nabcd1234\nwxyz5678"])
    assert secrets.masked("abcd1234") == secrets.masked("wxyz5678") == SECRET


@pytest.mark.parametrize(
    ("values", "secret"),
    [
        ({"url": "postgresql://bob:pw-of-bob@h/d"}, "pw-of-bob"),
        ({"url": "postgresql://bob:pw%40of@h/d"}, "pw@of"),
        ({"url": "https://h/p?token=to-ken"}, "to-ken"),
        ({"statements": "x OPTIONS ('password' = '${a.b}-c')", "variables": {"a": {"b": "pw"}}}, "pw-c"),
        ({"statements": "x OPTIONS ('url' = 'jdbc:x://h/d?password=${pw}')", "variables": {"pw": "open"}}, "open"),
        ({"statements": "x OPTIONS ('url' = 'x://u:${pw}@h/d')", "variables": {"pw": "open"}}, "open"),
    ],
)
def test_secrets_in_addresses_and_statements_are_known(values: dict[str, object], secret: str) -> None:
    """A server may repeat a password alone, which a statement composes of variables, or an address encodes."""
    assert Secrets(secrets_of_values(values)).masked(f"refused: {secret}") == f"refused: {SECRET}"
