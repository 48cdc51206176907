"""Secrets inside texts: which names mark a secret, and where options, URLs and lines of sources contain one."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import quote, quote_plus, unquote

SECRET = "(secret)"
"""Replaces a secret; two secrets are never compared."""

SUBSTITUTION = "${"
VARIABLE = r"\$\{([^{}]+)\}"
"""The use of a variable."""

_NAMES = re.compile(
    r"(pass(word|wd|phrase|code)|(^|[^a-z])(pg)?pass(?![a-z])|(^|[^a-z])pwd|secret|tokens?(?![a-z])"
    r"|(api|access|private|account|shared|encryption|signing|hmac|master|ssl|tls|client)[-_.]?key(?!(store|manager)))"
    r"(?!.*[-_.](path|file|location|name|env)$)|credential|jaas|(^|\.)headers(\.|$)"
    r"|(^|[^a-z])(authorization|cookies?)$|user[-_.]?info$|connection[-_.]?string$"
    r"|sasl\.(mechanism\.parameters|oauthbearer\.config)|(^|[^a-z])sas($|[^a-z])|keystore[-_.]key$",
    re.IGNORECASE,
)
_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# These patterns are compiled when they are first used: most applications have no secrets.
_USER_INFO = r"""(?<=://)[^/\s"'`]+(?=@)|(?<=jdbc:oracle:thin:)[^@\s"'`]+(?=@)|(?<=jdbc:oracle:oci:)[^@\s"'`]+(?=@)"""
_PASSWORD_OF_USER = r"""(?:://[^/:\s"'`]*:|jdbc:oracle:(?:thin|oci):[^/@\s"'`]*/)(?P<password>[^/\s"'`]+)(?=@)"""
_ASSIGNED = r"""(?i)((?:password|passwd|pwd|secret|token|access_?key|sig)\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s;&,"'`]+)"""
_PARAMETER = r"""(?P<key>[\w.%-]+)(?P<sign>=)(?P<value>(?:\$\{[^{}]*\}|[^\s&;#"'`,)\]}])+)"""
_QUERY = rf"(?:(?<=[?&;#])|^){_PARAMETER}"
"""A parameter in the query or the fragment of a URL, of JDBC, or of a connection string such as `Key=...;Name=...`."""

_WORD = rf"""(?<![^\s"'`])-{{0,2}}{_PARAMETER}"""
"""A word such as `password=...` of a connection string of libpq, or `--password=...` of a command."""

_WORDS = r"\s*(-{1,2}[\w.-]+=\S+|\w+=\S+(\s+\w+=\S+)*)\s*"
"""A text that consists of such words. In others, such as SQL, an equals sign may compare two columns."""

_AUTHORIZATION = (
    r"""(?i)(?P<start>(?:\b|(?<=\\[nrt]))authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+)"""
    r"""(?P<value>[^\s"',;]+)"""
)
"""The header of a request, also after a line end that is written as `\\n`."""

_PRIVATE_KEY = r"(?s)(?P<start>-----BEGIN [A-Z ]*PRIVATE KEY-----)(?P<value>.*?)(?=-----END )"
_MARKS = r"""[=:'"]|-----BEGIN"""
"""What every text with a secret has."""

_OPTION_NAME = r"--?[A-Za-z][\w.-]*"

_SIGNATURE = r"(?i)(^|[^a-z])sig(nature)?"
"""Parameters of URLs that are as good as a password."""

_SETTING = (
    r"""(?P<key>[\w.$-]+)["']?(?P<sign>\s*(?:\+?=|:)\s*)"""
    r"""(?P<value>"(?:[^"\\]|\\.)*(?:"|\\?$)|'[^']*(?:'|$)|[^\s,{}\[\]"'#]+)"""
)
_OPTION = (
    r"""(?P<key>[\w.$-]+)["'`]?\s*(?P<sign>[=:]?)\s*"""
    r"""(?P<value>"(?!\s*[=:,)])(?:[^"\\]|\\.)*"|'(?!\s*[=:,)])(?:[^'\\]|\\.)*')"""
)
"""An option of a statement of SQL: `'key' = 'value'` or `key 'value'`."""

_STATEMENT = r"(?i)\boptions\s*\("
_SUBSTITUTIONS = r"(\$\{[^{}]*\})+"

PLAIN_WORDS = ("true", "false", "none", "null")
"""Values of settings such as `credentials.enabled`, which are not secrets."""

INSIDE_WORDS = 8
"""A value of this length is replaced inside a word, too; a shorter one is too often a part of an ordinary word."""


@lru_cache(maxsize=10_000)  # a large blueprint has few different keys, each of them thousands of times
def is_secret(key: str) -> bool:
    """Return whether a setting is a secret by its name."""
    return _NAMES.search(_WORD_BOUNDARY.sub("-", key)) is not None


def masked(text: str) -> str:
    """Return a string with `SECRET` in place of its secrets.

    These are user information in URLs, and values assigned to `password` or the like, also in SQL statements.
    """
    text = re.sub(_ASSIGNED, rf"\g<1>{SECRET}", without_credentials(text))
    for start, end in reversed(list(secret_options(text))):
        text = f"{text[:start]}{SECRET}{text[end:]}"
    return text


def without_credentials(text: str) -> str:
    """Return a text with `SECRET` in place of user information in URLs, and of the secrets in their queries."""
    for pattern in (_AUTHORIZATION, _PRIVATE_KEY):
        text = re.sub(pattern, rf"\g<start>{SECRET}", text)
    return re.sub(_QUERY, _masked_parameter, re.sub(_USER_INFO, SECRET, text))


def _masked_parameter(match: re.Match[str]) -> str:
    return f"{match['key']}={SECRET}" if _is_secret_parameter(match) else match[0]


def _is_secret_parameter(match: re.Match[str]) -> bool:
    plain = match["value"].lower() in PLAIN_WORDS
    readable = plain or match["value"].startswith(("(", "*")) or re.fullmatch(_SUBSTITUTIONS, match["value"])
    return not readable and _has_secret_key(match)


def _has_secret_key(match: re.Match[str]) -> bool:
    return is_secret(match["key"]) or re.search(f"{_SIGNATURE}$", match["key"]) is not None


def secret_options(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the values of options of statements begin and end that are secrets, and not substitutions."""
    if "'" not in text and '"' not in text:
        return
    in_statement = re.search(_STATEMENT, text) is not None
    for match in re.finditer(_OPTION, text):
        value = match["value"][1:-1]
        readable = value in ("", SECRET) or re.fullmatch(_SUBSTITUTIONS, value)
        if not readable and (match["sign"] or in_statement) and is_secret(match["key"]):
            yield match.start("value") + 1, match.end("value") - 1


def option_secrets(text: str) -> Iterator[str]:
    """Yield the secrets in a text that it marks itself.

    These are values of options in statements, of parameters of URLs, of words and headers, passwords in URLs, and
    private keys.
    """
    if re.search(_MARKS, text) is None:
        return
    yield from (text[start:end] for start, end in secret_options(text))
    if "=" in text:
        yield from (match["value"] for match in re.finditer(_QUERY, text) if _is_secret_parameter(match))
        for words in (text, *(match["value"][1:-1] for match in re.finditer(_OPTION, text))):
            if re.fullmatch(_WORDS, words):
                yield from (match["value"] for match in re.finditer(_WORD, words) if _is_secret_parameter(match))
    for pattern in (_AUTHORIZATION, _PRIVATE_KEY):
        yield from (match["value"].strip() for match in re.finditer(pattern, text))
    if "@" in text:
        passwords = (match["password"] for match in re.finditer(_PASSWORD_OF_USER, text))
        yield from (password for password in passwords if not re.fullmatch(_SUBSTITUTIONS, password))


def names_secret(word: object) -> bool:
    """Return whether the word after this one in a command is a secret, as after `--password`."""
    return isinstance(word, str) and re.fullmatch(_OPTION_NAME, word) is not None and is_secret(word)


def secrets_with_variables(text: str) -> Iterator[str]:
    """Yield the secrets in a text, as it writes them, that use variables."""
    if SUBSTITUTION not in text:
        return
    in_statement = re.search(_STATEMENT, text) is not None
    options = (match for match in re.finditer(_OPTION, text) if match["sign"] or in_statement)
    values = [match["value"][1:-1] for match in options if is_secret(match["key"])]
    values += [match["value"] for match in re.finditer(_QUERY, text) if _has_secret_key(match)]
    values += [match["password"] for match in re.finditer(_PASSWORD_OF_USER, text)]
    yield from (value for value in values if SUBSTITUTION in value)


def path_of(variable: str) -> tuple[str, ...]:
    """Return the path of a variable from what is between its braces."""
    return tuple(part.strip(' "') for part in variable.removeprefix("?").split("."))


def secret_variables(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the variables that are used in secrets."""
    for secret in secrets_with_variables(text):
        yield from map(path_of, re.findall(VARIABLE, secret))


def notations(value: str) -> tuple[str, ...]:
    """Return a value as it is, and as JSON, Python, URLs and Base64 (of `user:password` in a request) write it."""
    plain = unquote(value)
    encoded = b64encode(value.encode()).decode().rstrip("=")
    return (value, plain, encoded, json.dumps(value)[1:-1], repr(value)[1:-1], ascii(value)[1:-1],
            *(quoting(text, safe=safe) for text in (value, plain) for quoting in (quote, quote_plus)
              for safe in ("", "/")))  # fmt: skip


def pattern_of(value: str) -> str:
    """Return the pattern that finds a value in texts."""
    pattern = re.escape(value)
    return pattern if len(value) >= INSIDE_WORDS else rf"(?<!\w){pattern}(?!\w)"


def starred_line(text: str, *, is_sql: bool, is_code: bool) -> str:
    """Return a line of a source with `*` in place of each character of a secret that the line itself marks as one."""
    if not is_code:
        for pattern in (_OPTION, _SETTING) if is_sql else (_SETTING,):
            text = re.sub(pattern, _starred_option if is_sql else _starred_value, text)
        text = re.sub(_WORD, _starred_parameter, text)
    return re.sub(_QUERY, _starred_parameter, re.sub(_USER_INFO, starred, text))


def starred(match: re.Match[str]) -> str:
    """Return `*` in place of each character of what a pattern has found."""
    return "*" * len(match[0])


def _starred_parameter(match: re.Match[str]) -> str:
    if not _is_secret_parameter(match):
        return match[0]
    return match[0][: match.start("value") - match.start()] + "*" * len(match["value"])


def _starred_value(match: re.Match[str]) -> str:
    value = match["value"]
    if value.startswith("$") or not is_secret(match["key"]):
        return match[0]
    start = match.start("value") - match.start()
    return match[0][:start] + "*" * len(value) + match[0][start + len(value) :]


def _starred_option(match: re.Match[str]) -> str:
    """Return an option of a statement, in which substitutions are inside the quotes."""
    return match[0] if re.fullmatch(_SUBSTITUTIONS, match["value"][1:-1]) else _starred_value(match)
