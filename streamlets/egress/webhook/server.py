"""`Server`: sends requests with an idempotency key, again after errors that pass."""

from __future__ import annotations

import email.utils
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from blueprint.settings.secret_texts import SECRET
from blueprint.wording import span

_REFUSED = (400, 413, 422)
"""The answers about what a request has; the others from 400 to 499 are about the URL, the headers or the time."""

_AGAIN = (408, 409, 425, 429)
"""Answers that another attempt may change. 409 is the answer to a request while its first attempt is still running."""

_SHORTEST_DELAY, _LONGEST_DELAY = 1.0, 60.0
_LONGEST_RETRY_AFTER = 300.0
"""Seconds. A server that asks for more time than this lets the query fail, which the supervisor starts again later."""

_SHOWN = 500
"""The number of bytes of an answer that are kept for messages."""


class ServerError(Exception):
    """The server does not take requests, now or with these settings."""


class RefusedError(Exception):
    """The server refuses what a request has.

    Arguments:
        status: the status of its answer.
        answer: the beginning of its answer.
    """

    def __init__(self, status: int, answer: str) -> None:
        super().__init__(f"{status} {answer}".strip())
        self.status = status
        self.answer = answer


@dataclass(frozen=True, slots=True)
class Server:
    """A server.

    Arguments:
        url: its URL.
        headers: headers of each request; their values are secrets.
        timeout: the time to wait for an answer, in seconds.
        attempts: how often a request is sent.
        sleep: waits for a number of seconds.
        now: returns the time in seconds since the epoch.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 30.0
    attempts: int = 5
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time

    def post(self, body: bytes, key: str) -> None:
        """Send a request, until the server has taken it.

        Arguments:
            body: the records as JSON.
            key: the idempotency key, by which a server recognizes a request that it has taken before.

        Raises:
            RefusedError: it refuses the records.
            ServerError: it does not take the request, also after the last attempt.
        """
        for attempt in range(1, self.attempts + 1):
            status, answer, retry_after = self._send(body, key)
            if 200 <= status < 300:
                return
            if status in _REFUSED:
                raise RefusedError(status, answer)
            again = status == 0 or status >= 500 or status in _AGAIN
            problem = f"`{self.shown}` {'cannot be reached' if not status else f'answered {status}'}"
            problem = f"{problem}: {answer}" if answer else problem
            if not again:
                raise ServerError(problem)
            if attempt == self.attempts:
                raise ServerError(f"{problem} (attempt {attempt} of {self.attempts})")
            if retry_after > _LONGEST_RETRY_AFTER:
                raise ServerError(f"{problem}; it asks to wait for {span(retry_after)}")
            self.sleep(retry_after or min(_LONGEST_DELAY, _SHORTEST_DELAY * 2 ** (attempt - 1)))

    @property
    def shown(self) -> str:
        """The URL without its query, which may have secrets."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def _send(self, body: bytes, key: str) -> tuple[int, str, float]:
        """Send a request once.

        Returns:
            The status of the answer, 0 for none; its beginning, or the reason; the seconds in `Retry-After`, or 0.
        """
        own = {"Content-Type": "application/json", "User-Agent": "streamlets"}
        given = {name.title(): value for name, value in self.headers.items()}
        headers = {name: value for name, value in own.items() if name not in given} | given
        request = urllib.request.Request(self.url, body, headers | {"Idempotency-Key": key}, method="POST")
        try:
            with _opener().open(request, timeout=self.timeout) as response:
                return int(response.status), "", 0.0
        except urllib.error.HTTPError as error:
            with error:
                answer = error.read(_SHOWN).decode(errors="replace")
                if 300 <= error.code < 400:
                    answer = "a redirect, which is not followed; set `url` to the final address"
                return error.code, self._without_secrets(answer), self._retry_after(error.headers.get("Retry-After"))
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            return 0, self._without_secrets(str(reason) or type(reason).__name__), 0.0

    def _without_secrets(self, text: str) -> str:
        for value in sorted(self.headers.values(), key=len, reverse=True):
            text = text.replace(value, SECRET) if value else text
        return " ".join(text.split())

    def _retry_after(self, value: str | None) -> float:
        """Return the seconds in the header, which has them as a number or as a date."""
        if value is None:
            return 0.0
        if value.strip().isdecimal():
            return float(value)
        try:
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - self.now())
        except (TypeError, ValueError):
            return 0.0


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Does not follow redirects, which would send the headers to another server and turn a POST into a GET."""

    def redirect_request(self, *arguments: Any) -> None:
        """Return None, so that the answer is an error."""


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_NoRedirects)
