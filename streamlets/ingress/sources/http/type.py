"""The registration of the source `http`, and its discovery and reading."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, ClassVar
from urllib.parse import urlsplit

from blueprint.catalog import ParameterProblem, ParameterType, SourceOption, SourceTraits
from streamlets.contract.text import is_unicode
from streamlets.ingress.batch_sources.context import Eat, SourceContext
from streamlets.ingress.sources.base import OpenSource, SourceItem, SourceType, contract_of
from streamlets.ingress.sources.http.client import Client, RequestFailedError, basic, origin, unzipped, zipped
from streamlets.ingress.sources.http.pages import PAGING, PageError, Pages, at_path, digest, with_query
from streamlets.ingress.sources.http.sample import sample_of_page
from streamlets.ingress.sources.records import Records
from streamlets.ingress.sources.sample import Sample, SampleError
from streamlets.ingress.spouts.codecs import Row

_PARAMETERS = ("cursor", "page", "offset")
"""The values of `paging` with a query parameter."""

_EXPIRED = (400, 404, 410, 422)
"""The status codes with which servers refuse a cursor that they no longer know."""

_HEADERS = "headers."
"""What the names of options for headers begin with."""

_HEADER_NAME, _HEADER_VALUE = re.compile(r"[!#$%&'*.^_`|~0-9A-Za-z+-]+"), re.compile(r"[\t\x20-\x7e\xa0-\xff]*")

_OPTIONS = (
    SourceOption(name="url", description="the URL of the first page", required=True),
    SourceOption(
        name="records",
        description="the path of the array of records in an answer, such as `data.items`; default: it is the answer",
    ),
    SourceOption(
        name="paging",
        description="how pages follow each other: `link` by the header `Link`, `cursor` by a value in the answer, "
        "`page` by numbers and `offset` by the number of records, both until a page has no records",
        default="none",
        choices=PAGING,
    ),
    SourceOption(
        name="cursor",
        description="the path of the cursor, or of the URL of the next page, in an answer, such as `meta.next`",
    ),
    SourceOption(
        name="page-parameter",
        description="the query parameter of the cursor, the number or the offset; default: the value of `paging`. "
        "A cursor with a `/` is a URL if this is not set",
    ),
    SourceOption(
        name="first-page", description="the number of the first page", type=ParameterType.INTEGER, default="1"
    ),
    SourceOption(
        name="max-pages",
        description="the largest number of pages of a discovery; the next one goes on",
        type=ParameterType.INTEGER,
        default="10000",
        minimum=1,
    ),
    SourceOption(
        name="since-field",
        description="the path in a record of a value that grows, such as `updated_at`; the largest is remembered",
        needs="since-parameter",
    ),
    SourceOption(
        name="since-parameter",
        description="the query parameter that gets the remembered value, for records that are new",
        needs="since-field",
    ),
    SourceOption(
        name="since-initial",
        description="the value of `since-parameter` of the first discovery; default: it is not sent",
        needs="since-parameter",
    ),
    SourceOption(
        name="token",
        description="the token that each request has, as `Authorization: Bearer` or in `header`",
        secret=True,
    ),
    SourceOption(
        name="header",
        description="the header that gets the token as it is, such as `X-Api-Key`",
        needs="token",
    ),
    SourceOption(name="user", description="the name of the user, for `Authorization: Basic`", needs="password"),
    SourceOption(name="password", description="the password of the user", secret=True, needs="user"),
    SourceOption(
        name="timeout",
        description="how long the server may take to connect, and for each part of its answer",
        type=ParameterType.DURATION,
        default="30 seconds",
    ),
    SourceOption(
        name="attempts",
        description="how often a request is sent if the server is busy or not available; pauses double from 1 second, "
        "or are as `Retry-After` says, up to 10 minutes",
        type=ParameterType.INTEGER,
        default="5",
        minimum=1,
    ),
    SourceOption(
        name="max-size",
        description="the maximum size of an answer",
        type=ParameterType.MEMORY_SIZE,
        default="64 MiB",
    ),
)


class HttpSource(SourceType):
    """Records in JSON from a server, page by page."""

    traits: ClassVar[SourceTraits] = SourceTraits(
        name="http",
        description="Records in JSON from a server, page by page.",
        task="a page, whose content is stored",
        identity="URL and records",
        guarantee="exactly-once",
        order="as the pages follow each other",
        options=_OPTIONS,
        discovery={"triggerer": "interval", "config": {"interval": "1 minute"}},
        exclusive=(("token", "user"),),
        passes_on=(_HEADERS,),
    )

    def open(self, options: Mapping[str, Any], context: SourceContext) -> OpenHttp:
        """Return the open source."""
        return OpenHttp(options, context)

    def sample(self, options: Mapping[str, Any], context: SourceContext, count: int) -> Sample:
        """Return the records of the first page."""
        return OpenHttp({**options, "attempts": min(options["attempts"], 2)}, replace(context, discovers=True)).sample(
            count
        )

    def option_problems(self, options: Mapping[str, Any]) -> Iterator[ParameterProblem]:
        """Yield the problems of the URL, and of options that do not go together."""
        url = urlsplit(str(options["url"]))
        if url.scheme not in ("http", "https") or not url.hostname:
            message = "`url` must begin with `http://` or `https://` and the name of a server"
            yield ParameterProblem(("options", "url"), message)
        elif url.password is not None:
            message = "`url` has a password, which is not a secret there"
            yield ParameterProblem(("options", "url"), message, ("set `user`, and `password { env = NAME }`",))
        if (options["paging"] == "cursor") != ("cursor" in options):
            message = "`paging = cursor` requires `cursor`, and no other value has it"
            yield ParameterProblem(("options", "paging"), message, ("set `cursor` to the path in an answer",))
        if "page-parameter" in options and options["paging"] not in _PARAMETERS:
            message = f"`page-parameter` has no meaning with `paging = {options['paging']}`"
            yield ParameterProblem(("options", "page-parameter"), message, ("remove `page-parameter`",), "key")
        for name, amount in (("timeout", options["timeout"].nanoseconds), ("max-size", options["max-size"].bytes)):
            if not amount:
                yield ParameterProblem(("options", name), f"`{name}` must be more than 0")
        yield from _header_problems(options)


def _header_problems(options: Mapping[str, Any]) -> Iterator[ParameterProblem]:
    """Yield the problems of headers, which could be taken for further ones."""
    named = {name: (name.removeprefix(_HEADERS), str(v)) for name, v in options.items() if name.startswith(_HEADERS)}
    if "header" in options:
        named["header"] = (options["header"], "")
    for option, (name, value) in named.items():
        path = ("options", *((_HEADERS[:-1], name) if option != "header" else (option,)))
        if not _HEADER_NAME.fullmatch(name):
            yield ParameterProblem(path, f"`{name}` is not the name of a header")
        elif not _HEADER_VALUE.fullmatch(value):
            message = f"the value of the header `{name}` has a character that a header cannot have"
            yield ParameterProblem(path, message)


class OpenHttp(OpenSource):
    """The open source.

    Arguments:
        options: its options.
        context: the environment.
    """

    def __init__(self, options: Mapping[str, Any], context: SourceContext) -> None:
        self._options, self._context = options, context
        given = options.get("page-parameter", "")
        parameter = given or options["paging"]
        self._pages = Pages(
            options["paging"],
            parameter,
            options.get("cursor", ""),
            options.get("records", ""),
            options["first-page"],
            urls=not given,
        )
        self._client = self._connected() if context.discovers else None

    def discover(self, eat: Eat, event: str) -> None:
        """Pass each page with records. After each of them, it is remembered how far this discovery has come.

        Raises:
            OSError: the server is not available, or refuses a request.
            PageError: an answer does not have what the options say.
        """
        memory = _Memory.of(eat.remembered, [urlsplit(self._options["url"]).path, self._options.get("since-field")])
        resumed = memory.next is not None
        url = memory.next or self._start(memory)
        seen = {url}
        for _ in range(self._options["max-pages"]):
            try:
                following = self._page(url, memory, eat)
            except RequestFailedError as error:
                if not (resumed and error.status in _EXPIRED):
                    raise
                following, memory.next = self._start(memory), None  # its cursor has expired
                seen.clear()
            resumed = False
            if following is None:
                memory.end()
                eat.remember(memory.stored)
                return
            if following in seen:
                raise PageError(f"{self._pages.shown(following)} was seen before: the pages after it would repeat")
            seen.add(following)
            url = following

    def sample(self, count: int) -> Sample:
        """Return records of the first page, and the options that its answer calls for.

        Arguments:
            count: the number of records.

        Raises:
            SampleError: the server is not available, or its answer has no array of records.
        """
        assert self._client is not None, "it discovers"
        url = self._start(_Memory(None))
        try:
            answer = self._client.get(url)
            return sample_of_page(url, answer, self._options, count)
        except (OSError, PageError) as error:
            raise SampleError(str(error)) from None

    def read(self, task: Any) -> Iterator[SourceItem]:
        """Yield the records of a page."""
        _, values = self._pages.parsed(unzipped(task["content"]), task["url"])
        skipped = set(task["skip"])
        rows = (
            Row(value, f"record {number}", json.dumps(value, default=str, ensure_ascii=False))
            for number, value in enumerate(values, 1)
            if number not in skipped
        )
        yield from Records(contract_of(self._context), task["url"], {}).of_objects(rows)

    def _page(self, url: str, memory: _Memory, eat: Eat) -> str | None:
        """Pass a page, and return the URL of the next one."""
        assert self._client is not None, "it discovers"
        answer = self._client.get(url)
        parsed, records = self._pages.parsed(answer.body, url)
        following = self._pages.following(url, answer, parsed, len(records))
        if following is not None and origin(following) != origin(self._options["url"]):
            raise PageError(f"the page after {url} is on another server: {following}")
        skipped = []
        if field := self._options.get("since-field"):
            skipped = [number for number, value in enumerate(records, 1) if memory.is_known(value, field)]
        memory.next = following
        if len(skipped) == len(records):
            eat.remember(memory.stored)
            return following
        task = {"url": url, "records": len(records) - len(skipped), "skip": skipped, "content": zipped(answer.body)}
        eat(task, key=f"{url} {digest(records)} {digest(skipped)}", remember=memory.stored)
        return following

    def _start(self, memory: _Memory) -> str:
        """Return the URL of the first page of a discovery."""
        url = self._pages.start(self._options["url"])
        since = memory.since if memory.since is not None else self._options.get("since-initial")
        parameter = self._options.get("since-parameter")
        return with_query(url, {parameter: str(since)}) if parameter and since is not None else url

    def _connected(self) -> Client:
        options, secret = self._options, self._context.secret
        secrets: dict[str, str] = {}
        if "token" in options:
            token = secret(options["token"])
            secrets |= {options["header"]: token} if "header" in options else {"Authorization": f"Bearer {token}"}
        if "password" in options:
            secrets["Authorization"] = basic(options["user"], secret(options["password"]))
            self._context.secrets.add((secrets["Authorization"].partition(" ")[2],))
        headers = {name[len(_HEADERS) :]: str(value) for name, value in options.items() if name.startswith(_HEADERS)}
        size = options["max-size"]
        return Client(headers, secrets, options["timeout"].seconds, options["attempts"], size.bytes)


class _Memory:
    """What is remembered between discoveries, and after each page.

    Arguments:
        of: what the source reads; of another one, nothing is remembered.
        since: the largest value of `since-field` of the discoveries that are complete; None without one.
        known: the digests of the records that have that value: a server that answers `since` inclusively sends them
            again.
        next: the next page of a discovery that is not complete; None if it is.
        largest: the largest value of that discovery so far.
        with_largest: the digests of its records that have it.
    """

    def __init__(
        self, of: Any, since: Any = None, known: Any = (), next: str | None = None, largest: Any = None,
        with_largest: Any = (),
    ) -> None:  # fmt: skip
        self._of = of
        self.since, self._known, self.next = since, set(known), next
        self._largest, self._with_largest = largest, set(with_largest)

    @classmethod
    def of(cls, stored: Any, of: Any) -> _Memory:
        """Return the stored memory, or an empty one if the stored one is of another source."""
        return cls(**stored) if isinstance(stored, dict) and stored.get("of") == of else cls(of)

    @property
    def stored(self) -> dict[str, Any]:
        """The memory as JSON data."""
        return {
            "of": self._of,
            "since": self.since,
            "known": sorted(self._known),
            "next": self.next,
            "largest": self._largest,
            "with_largest": sorted(self._with_largest),
        }

    def is_known(self, record: Any, field: str) -> bool:
        """Return whether a record was read before at the value `since`; take note of its value."""
        value = at_path(record, field)
        if value is None:
            return False
        text, print_ = _plain(value), digest(record)
        if isinstance(text, str) and not is_unicode(text):  # no URL can have it
            return False
        if text == self.since and print_ in self._known:
            return True
        if self._largest is None or _greater(text, self._largest):
            self._largest, self._with_largest = text, {print_}
        elif text == self._largest:
            self._with_largest.add(print_)
        return False

    def end(self) -> None:
        """Take note that a discovery is complete."""
        if self._largest is not None and (self.since is None or _greater(self._largest, self.since)):
            self.since, self._known = self._largest, self._with_largest
        elif self._largest == self.since:
            self._known |= self._with_largest
        self.next, self._largest, self._with_largest = None, None, set()


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value if isinstance(value, int | str) else str(value)


def _greater(value: Any, other: Any) -> bool:
    """Return whether a value is greater; numbers and strings are compared as strings."""
    return bool(value > other) if type(value) is type(other) else str(value) > str(other)
