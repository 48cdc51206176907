"""`Client`: requests for JSON, with retries and authentication."""

from __future__ import annotations

import base64
import email.utils
import gzip
import http.client
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

_AGAIN = {408, 425, 429, 500, 502, 503, 504}
"""The status codes with which a request is sent again."""

_LONGEST_WAIT = 600.0
_MOST_SHOWN = 200  # characters of the answer of a failed request


class RequestFailedError(OSError):
    """A request has failed for good. `status` is the code of the answer, 0 without one."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request.

    Arguments:
        body: its content.
        headers: its headers.
    """

    body: bytes
    headers: Message


class _SameOrigin(HTTPRedirectHandler):
    """Follows redirects; headers with secrets do not leave the server that they are for."""

    def redirect_request(
        self, req: Request, fp: object, code: int, msg: str, headers: object, newurl: str
    ) -> Request | None:
        request = super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]
        if request is not None and origin(newurl) == origin(req.full_url):
            for name, value in req.unredirected_hdrs.items():
                request.add_unredirected_header(name, value)
        return request


@dataclass(frozen=True, slots=True)
class Client:
    """Sends requests.

    Arguments:
        headers: the headers of each request.
        secret_headers: headers with secrets, which only the server of the first URL gets.
        timeout: seconds that the server may take to connect, and for each part of its answer.
        attempts: how often a request is sent.
        largest: the maximum size of an answer in bytes.
        sleep: waits a number of seconds.
        clock: returns the time in seconds since the epoch.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    secret_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 30.0
    attempts: int = 5
    largest: int = 64 * 1024 * 1024
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time

    def get(self, url: str) -> Answer:
        """Return the answer to a request, which is sent again after failures that may pass.

        Arguments:
            url: the URL.

        Raises:
            RequestFailedError: the server refuses it, or all attempts have failed.
        """
        delay = 1.0
        for attempt in range(1, self.attempts + 1):
            try:
                return self._get(url)
            except HTTPError as error:
                with error:
                    shown = error.read(_MOST_SHOWN).decode("utf-8", "replace").strip()
                    reason = f"{error.code} {error.reason}{f': {shown}' if shown else ''}"
                    asked = self._retry_after(error.headers)
                status, wait = error.code, delay if asked is None else asked
            except (URLError, http.client.HTTPException, OSError, zlib.error, EOFError) as error:
                if isinstance(error, RequestFailedError):
                    raise
                reason, status, wait = str(getattr(error, "reason", error)) or type(error).__name__, 0, delay
            if status and status not in _AGAIN:
                raise RequestFailedError(f"GET {url}: {reason}", status)
            if attempt < self.attempts:
                self.sleep(min(wait, _LONGEST_WAIT))
                delay = min(2 * delay, _LONGEST_WAIT)
        raise RequestFailedError(f"GET {url}: {reason} (sent {self.attempts} times)", status)

    def _get(self, url: str) -> Answer:
        request = Request(url, headers={"Accept": "application/json", "Accept-Encoding": "gzip", **self.headers})
        for name, value in self.secret_headers.items():
            request.add_unredirected_header(name, value)
        with build_opener(_SameOrigin).open(request, timeout=self.timeout) as answer:
            body = answer.read(self.largest + 1)
            expected = answer.headers.get("Content-Length")
            if expected is not None and len(body) < min(int(expected), self.largest):
                raise http.client.IncompleteRead(body, int(expected) - len(body))
            if answer.headers.get("Content-Encoding", "") == "gzip":
                unzipping = zlib.decompressobj(zlib.MAX_WBITS | 16)
                body = unzipping.decompress(body, self.largest + 1)
                if not unzipping.eof and len(body) <= self.largest:
                    raise http.client.IncompleteRead(body)
            if len(body) > self.largest:
                raise RequestFailedError(f"GET {url}: the answer is larger than `max-size`, {self.largest} bytes")
            return Answer(body, answer.headers)

    def _retry_after(self, headers: Message) -> float | None:
        """Return the seconds that the server asks to wait; None if it does not."""
        value = headers.get("Retry-After", "") if headers is not None else ""
        if value.strip().isdecimal():
            return float(value)
        try:
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - self.clock())
        except (TypeError, ValueError):
            return None


def origin(url: str) -> tuple[str, str]:
    """Return the scheme and the server of a URL."""
    parts = urlsplit(url)
    return parts.scheme.lower(), parts.netloc.lower()


def basic(user: str, password: str) -> str:
    """Return the header `Authorization` of a user with a password."""
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def zipped(content: bytes) -> str:
    """Return bytes as a compressed text, for a task."""
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()


def unzipped(text: str) -> bytes:
    """Return the bytes of a text of `zipped`."""
    return gzip.decompress(base64.b64decode(text))
