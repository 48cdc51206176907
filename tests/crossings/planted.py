"""Planted secrets: values that no output may show. They are put wherever the tables of the project have a place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from blueprint.catalog import Option, ParameterType
from blueprint.core_settings import SETTINGS
from blueprint.setting_types import FREE_FORM, OBJECT
from blueprint.settings.secret_texts import is_secret
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.egress.registry import SINKS
from streamlets.ingress.sources import SOURCES

SECRET_KEYS = (
    "password", "db-password", "passphrase", "PGPASSWORD", "pwd", "client.secret", "secretKey", "token", "auth_token",
    "api-key", "apiKey", "access.key", "account-key", "private_key", "ssl.key", "sasl.jaas.config",
    "credentials.user", "headers.X-Auth", "smtp_pass", "passcode", "Authorization", "session.cookie", "user.info",
    "AccountKey", "hmac-key", "connectionString", "fs.azure.sas.box", "ssl.keystore.key", "sasl.oauthbearer.config",
    "signing-key", "encryption.key",
)  # fmt: skip
"""Names of settings that are secrets."""

URLS = (
    "jdbc:postgresql://bob:{}@db/x", "postgresql://db/x?password={}", "https://h/p?a=1&token={}", "https://h/p?sig={}&b=2",
    "s3://{}@bucket/x", "https://h/p?api_key={};x=1", "jdbc:oracle:thin:bob/{}@//h:1521/x",
    "jdbc:sqlserver://h;user=u;password={}", "host=h user=u password={} dbname=d", "https://h/p#access_token={}",
    "https://h/p?X-Amz-Signature={}", "Endpoint=sb://h/;SharedAccessKeyName=n;SharedAccessKey={}",
    "AccountKey={};AccountName=a", "mongodb://u:{}@h1,h2/db", "redis://:{}@h:6379/0", "--token={}",
    "Authorization: Bearer {}",
)  # fmt: skip
"""Addresses with a secret in them."""

_PLANTED = re.compile(r"hunter\d{4}zq|aHVudGVy\w+|h1bnRlc\w+|odW50ZX\w+")
"""A planted secret, as it is or in base64, in which its first letters have three forms."""


class Planter:
    """Makes distinct secrets, and finds them again."""

    def __init__(self) -> None:
        self.count = 0

    def secret(self) -> str:
        """Return the next secret."""
        self.count += 1
        return f"hunter{self.count:04}zq"

    def settings(self) -> str:
        """Return settings with every secret key in them, as the fields of an object in HOCON."""
        return ",\n".join(f'"{key}" = "{self.secret()}"' for key in SECRET_KEYS)

    def urls(self) -> str:
        """Return settings with a secret in each form of address."""
        return ",\n".join(f'address-{n} = "{url.format(self.secret())}"' for n, url in enumerate(URLS))


def found_in(text: str) -> set[str]:
    """Return the planted secrets that a text shows."""
    return set(_PLANTED.findall(text))


def found_below(directory: Path) -> dict[str, set[str]]:
    """Return the planted secrets in the files below a directory, and in their names, by path."""
    shown = {}
    for file in directory.rglob("*"):
        content = file.read_bytes().decode("latin-1") if file.is_file() and not file.is_symlink() else ""
        if secrets := found_in(f"{file} {content}"):
            shown[str(file)] = secrets
    return shown


PLACES = {"<ref>": "feed", "<port>": "rows", "<query>": "rows", "<id>": "rows", "<name>": "main", "<code>": "x"}


def settings_of_tables(planter: Planter) -> str:
    """Return a line for each setting of the project's tables that can have a secret, in HOCON: objects with secrets
    and addresses in them, and strings that are addresses."""
    tables = [SETTINGS, *(kind.traits.settings for kind in CHANNEL_TYPES.values())]
    lines = []
    for setting in (setting for table in tables for setting in table):
        path = setting.path
        for place, name in PLACES.items():
            path = path.replace(place, name)
        if setting.path.endswith("volume-mounts"):  # directories, by names of the user
            continue
        if setting.type in (*FREE_FORM, OBJECT):
            lines.append(f"flow.{path} {{ {planter.settings()}, {planter.urls()} }}")
        elif setting.type.expected == "a string":
            lines += [f'flow.{path} = "{url.format(planter.secret())}"' for url in URLS]
    return "\n".join(lines)


def values_of(option: Option, planter: Planter) -> tuple[str, ...]:
    """Return values with a secret for an option of a sink or a source; () if it cannot have one."""
    if is_secret(option.name):
        return (planter.secret(),)
    if option.type is ParameterType.STRING and not option.choices and "url" in option.name:
        return tuple(url.format(planter.secret()) for url in URLS)
    return ()


def sinks(planter: Planter) -> Iterator[tuple[str, str, str]]:
    """Yield each sink with each of its options that can have a secret, and a value with one."""
    for name, kind in SINKS.items():
        for option in kind.traits.options:
            yield from ((name, option.name, value) for value in values_of(option, planter))


def sources(planter: Planter) -> Iterator[tuple[str, str, str]]:
    """Yield each source with each of its options that can have a secret, and a value with one, as `sinks` does."""
    for name, kind in SOURCES.items():
        for option in kind.traits.options:
            yield from ((name, option.name, value) for value in values_of(option, planter))
