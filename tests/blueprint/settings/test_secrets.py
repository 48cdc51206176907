"""Which settings are secret, and how texts are masked."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from blueprint.diagnostics import Span
from blueprint.settings.secrets import Secrets, is_secret_path, masked


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
