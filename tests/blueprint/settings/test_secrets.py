"""Which settings are secret, and how texts are masked."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from blueprint.diagnostics import Span
from blueprint.settings.secrets import Secrets, is_secret_path


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
    masked = secrets.data(event)
    assert masked == Event(
        1.0, "cannot log in with (secret) at http://(secret)@host; password=(secret) y", ("a.py: (secret)", "b")
    )
    assert secrets.masked("hunter22 abc") == "hunter22 abc"


def test_lines_keep_their_length() -> None:
    """Secrets are found by span, by the key on the line, by value and in URLs; substitutions and code are readable."""
    secrets = Secrets(["hunter2"], [Span("a.conf", 1, 5, 1, 8)])
    for line in ("x = abc", "b { token = abc, c = hunter2 }", '"api-key": "a b"', "u = jdbc://a:b@c"):
        masked = secrets.line("a.conf", 1 if line.startswith("x") else 2, line)
        assert len(masked) == len(line)
        assert "*" in masked
        assert not any(text in masked for text in ("abc", "hunter2", "a b", "a:b"))
    assert secrets.line("a.conf", 2, "password = ${PASSWORD}, n = 1") == "password = ${PASSWORD}, n = 1"
    assert secrets.line("a.py", 2, "token = Parameter()") == "token = Parameter()"
