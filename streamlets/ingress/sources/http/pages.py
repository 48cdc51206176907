"""How the pages of an answer follow each other, and the records in it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from streamlets.contract.text import escaped, is_unicode
from streamlets.ingress.sources.http.client import Answer

PAGING = ("none", "link", "cursor", "page", "offset")
"""The ways in which pages follow each other."""

_NEXT = re.compile(r'<([^>]*)>\s*;[^,]*?\brel\s*=\s*"?[^",;]*\bnext\b')


class PageError(ValueError):
    """An answer does not have what the options say."""


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of a server.

    Arguments:
        paging: one of `PAGING`.
        parameter: the query parameter with the cursor, the number of the page, or the offset.
        cursor: the path of the cursor, or of the URL of the next page, in an answer.
        records: the path of the array of records in an answer; "" if the answer is the array.
        first: the number of the first page.
        urls: whether a cursor with a `/` is the URL of the next page.
    """

    paging: str
    parameter: str = ""
    cursor: str = ""
    records: str = ""
    first: int = 1
    urls: bool = False

    def start(self, url: str) -> str:
        """Return the URL of the first page."""
        if self.paging in ("page", "offset"):
            return with_query(url, {self.parameter: str(self.first if self.paging == "page" else 0)})
        return url

    @staticmethod
    def json(body: bytes, url: str) -> Any:
        """Return an answer as JSON data.

        Raises:
            PageError: it is not JSON.
        """
        try:
            return json.loads(body, parse_float=Decimal)
        except (ValueError, RecursionError) as error:
            raise PageError(f"the answer to GET {url} is not JSON: {error}") from None

    def parsed(self, body: bytes, url: str) -> tuple[Any, list[Any]]:
        """Return an answer, and its records.

        Raises:
            PageError: it is not JSON, or has no array of records.
        """
        answer = self.json(body, url)
        records = at_path(answer, self.records)
        if not isinstance(records, list):
            place = f"`{self.records}` of the answer" if self.records else "the answer"
            found = "missing" if records is None else f"a `{type(records).__name__}`"
            raise PageError(f"{place} to GET {url} must be an array of records, but is {found}")
        return answer, records

    def following(self, url: str, answer: Answer, parsed: Any, records: int) -> str | None:
        """Return the URL of the next page; None after the last one.

        Arguments:
            url: the URL of this page.
            answer: the answer.
            parsed: its content.
            records: the number of its records.
        """
        if self.paging == "link":
            links = ", ".join(answer.headers.get_all("Link", []))
            found = _NEXT.search(links)
            return urljoin(url, found[1]) if found else None
        if self.paging == "cursor":
            cursor = at_path(parsed, self.cursor)
            if cursor in (None, "", False):
                return None
            text = str(cursor)
            if not is_unicode(text):
                raise PageError(f"the cursor `{escaped(text)}` in the answer to GET {url} is not valid UTF-8")
            return urljoin(url, text) if "/" in text and self.urls else with_query(url, {self.parameter: text})
        if self.paging in ("page", "offset") and records:
            now = int(dict(parse_qsl(urlsplit(url).query))[self.parameter])
            return with_query(url, {self.parameter: str(now + (1 if self.paging == "page" else records))})
        return None

    def shown(self, url: str) -> str:
        """Return the cursor of a page for messages, or its URL without one."""
        cursor = dict(parse_qsl(urlsplit(url).query)).get(self.parameter)
        return f"the cursor `{cursor}`" if self.paging == "cursor" and cursor is not None else f"the page {url}"


def with_query(url: str, parameters: Mapping[str, str]) -> str:
    """Return a URL with other values of query parameters."""
    parts = urlsplit(url)
    others = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in parameters]
    return urlunsplit(parts._replace(query=urlencode([*others, *parameters.items()])))


def at_path(value: Any, path: str) -> Any:
    """Return the value at a path of keys, such as `meta.next`; None if there is none."""
    for key in filter(None, path.split(".")):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def digest(value: Any) -> str:
    """Return a digest of JSON data, the same for equal data."""
    text = json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
