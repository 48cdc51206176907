"""Which settings are secret, and how texts are masked."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from blueprint.diagnostics import Span
from blueprint.settings.secret_sources import ReadVariables, environment_secrets, secrets_of_values
from blueprint.settings.secret_texts import SECRET, masked
from blueprint.settings.secrets import Secrets, is_secret_path, without_secrets


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
        ("smtp_pass", True),
        ("dbPass", True),
        ("bypass", False),
        ("passengers", False),
        ("PGPASS", True),
        ("schema-registry.basic.auth.user.info", True),
        ("sasl.oauthbearer.config", True),
        ("ssl.keystore.key", True),
        ("ssl.keystore.type", False),
        ("ssl.keymanager.algorithm", False),
        ("SharedAccessKeyName", False),
        ("AccountKey", True),
        ("connectionString", True),
        ("Authorization", True),
        ("fs.azure.sas.container.account", True),
        ("hmac-key", True),
        ("session.cookie", True),
        ("ssl.key.location", False),
        ("token-file", False),
        ("password.profile", True),
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


def test_a_login_in_a_request_is_replaced() -> None:
    """Clients send it in Base64, and a server may repeat it without the name of the header."""
    login = b64encode(b"flow:open-sesame").decode()
    shown = Secrets(["flow:open-sesame"]).masked(f"refused: {login} {login.rstrip('=')}")
    assert shown == f"refused: {SECRET}== {SECRET}"


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
        ({"url": "jdbc:oracle:thin:bob/open-sesame@//h:1521/x"}, "open-sesame"),
        ({"url": "jdbc:sqlserver://h;user=u;password=open-sesame"}, "open-sesame"),
        ({"url": "https://h/p#access_token=open-sesame"}, "open-sesame"),
        ({"url": "https://h/p?X-Amz-Signature=open-sesame"}, "open-sesame"),
        ({"dsn": "host=h user=u password=open-sesame dbname=d"}, "open-sesame"),
        ({"statements": "x OPTIONS ('dsn' = 'host=h password=open-sesame')"}, "open-sesame"),
        ({"dsn": "password=open-sesame host=h"}, "open-sesame"),
        ({"address": "AccountKey=open-sesame;AccountName=a"}, "open-sesame"),
        ({"cmd": ["get", "--api-key=open-sesame"]}, "open-sesame"),
        ({"cmd": ["get", "--api-key", "open-sesame"]}, "open-sesame"),
        ({"cmd": ["curl", "-H", "Authorization: Bearer open-sesame"]}, "open-sesame"),
        ({"pem": "-----BEGIN RSA PRIVATE KEY-----\nopen-sesame\n-----END RSA PRIVATE KEY-----"}, "open-sesame"),
    ],
)
def test_secrets_in_addresses_and_statements_are_known(values: dict[str, object], secret: str) -> None:
    """A server may repeat a password alone, which a statement composes of variables, or an address encodes."""
    assert Secrets(secrets_of_values(values)).masked(f"refused: {secret}") == f"refused: {SECRET}"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM a JOIN b ON token=user_token", "host=h port=5", "--tokens-per-second 5", "see passengers=all",
        "credentials.enabled=true", "Authorization: denied by the broker",
    ],
)  # fmt: skip
def test_other_texts_have_no_secrets(text: str) -> None:
    """A comparison, a plain option or a message is not a secret; `true` is not replaced in other texts."""
    secrets = Secrets([*secrets_of_values({"text": text}), "true"])
    assert secrets.values == set()
    assert secrets.without(text) == text


def test_words_of_commands_are_masked() -> None:
    """As one word, and as the word after an option; the other words are readable."""
    words = ["get", "--password", "sesame", "--api-key=sesame", "--rows", "5"]
    secrets = Secrets(secrets_of_values({"cmd": words}))
    assert secrets.json(without_secrets("cmd", list(words))) == [
        "get", "--password", SECRET, f"--api-key={SECRET}", "--rows", "5",
    ]  # fmt: skip


def test_headers_and_keys_are_masked() -> None:
    """In texts of which no setting is known: what a server repeats, and what a library prints."""
    assert Secrets().without("{'Authorization': 'Basic dTpw', 'Host': 'h'}") == (
        "{'Authorization': 'Basic (secret)', 'Host': 'h'}"
    )
    assert Secrets().without(r"b'Host: h\nAuthorization: Basic dTpw'") == r"b'Host: h\nAuthorization: Basic (secret)'"
    key = "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----"
    assert Secrets().without(f"cannot read {key}") == (
        "cannot read -----BEGIN PRIVATE KEY-----(secret)-----END PRIVATE KEY-----"
    )


def test_variables_of_the_environment() -> None:
    """Those with the name of a secret are secrets, unless they name a file, a directory, or an ordinary word."""
    variables = {
        "PGPASSWORD": "open-sesame", "API_TOKEN": "token-of-api", "PWD": "/home/me/orders", "SHORT_TOKEN": "dev",
        "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/token", "GOOGLE_APPLICATION_CREDENTIALS": "/home/me/key.json",
        "HOME": "/home/me",
    }  # fmt: skip
    assert set(environment_secrets(variables)) == {"open-sesame", "token-of-api"}
    read = ReadVariables(variables)
    assert [read.get(name) for name in ("PWD", "HOME", "SHORT_TOKEN", "NONE")] == [
        "/home/me/orders", "/home/me", "dev", None,
    ]  # fmt: skip
    assert list(read.secrets()) == ["dev"]


def test_a_replaced_file_is_masked_by_every_thread(tmp_path: Path) -> None:
    """A thread that masks a text while another one reads the new content does not miss it."""
    seen_between: list[str] = []

    class Reading(Secrets):
        """Masks a text in the middle of a read, as another thread may."""

        inside = False

        def add(self, values: Iterable[str]) -> None:
            if not self.inside and self.values:
                self.inside = True
                seen_between.append(self.without("the new content is swordfish"))
            super().add(values)

    file = tmp_path / "password"
    file.write_text("hunter2")
    secrets = Reading(["other"])
    secrets.follow(file)
    secrets.inside = True
    assert secrets.without("hunter2") == SECRET
    secrets.inside = False
    file.write_text("swordfish")
    assert secrets.without("swordfish") == SECRET
    assert seen_between == [f"the new content is {SECRET}"]
