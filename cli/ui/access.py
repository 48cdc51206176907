"""Who may see the page, and from where: rules that hold for every request, whatever answers it.

* A request must name this server as its host, so that a page of another site that resolves its own name to this machine
  is refused.
* It must have a session: a cookie that was given for the token of the printed address, or for the password, or a header
  that a proxy sets.
* A request that changes anything must also come from a page of this server, which has the token of the session.
* Every answer forbids the browser to load anything from elsewhere, to run scripts in it, and to show it in a frame.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT = 64 * 1024
"""The largest body of a request, in bytes."""

SESSION = 30 * 24 * 3600
"""Seconds that a session lasts."""

CSRF_HEADER = "x-flow-token"
"""The header with the token of the session that changes need."""

_SAFE = ("GET", "HEAD")

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The rules of one server.

    Arguments:
        secret: signs the sessions; sessions are valid as long as it stays the same.
        token: the token of the printed address; "" if sessions are only given for the password or by the proxy.
        hosts: the values of the header `Host` that name this server.
        secure: whether it is reached by TLS.
        password: the password for a session; "" for none.
        user_header: the header in which a proxy names the user; "" for none.
        proxies: the addresses from which the header of the proxy is believed.
        cookie: the name of the cookie.
    """

    secret: bytes
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    hosts: frozenset[str] = frozenset()
    secure: bool = False
    password: str = ""
    user_header: str = ""
    proxies: Collection[str] = ()
    cookie: str = "flow_session"

    @property
    def scheme(self) -> str:
        """The scheme of the addresses of pages."""
        return "https" if self.secure else "http"

    def new_session(self, now: float) -> str:
        """Return the value of the cookie of a new session."""
        text = f"{int(now) + SESSION}.{secrets.token_urlsafe(12)}"
        return f"{text}.{self._signature('session', text)}"

    def is_session(self, value: str, now: float) -> bool:
        """Return whether a cookie is of a session that has not ended."""
        text, _, signature = value.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature("session", text).encode()):
            return False
        until = text.partition(".")[0]
        return until.isdigit() and now < int(until)

    def change_token(self, session: str) -> str:
        """Return the token that changes need in a session."""
        return self._signature("change", session)

    def _signature(self, purpose: str, text: str) -> str:
        return hmac.new(self.secret, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


class Guard:
    """Holds the rules for every request before the application sees it."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no websockets
            return
        answer = await self._refusal(scope, receive)
        app: ASGIApp = self._app if answer is None else answer
        body = _Limited(receive)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await app(scope, body, with_headers)

    async def _refusal(self, scope: Scope, receive: Receive) -> Response | None:
        """Return the answer to a request that is not passed on; None if it is."""
        access, headers = self._access, Headers(scope=scope)
        if headers.getlist("host") not in [[host] for host in access.hosts]:
            return _text("this server has another name: open the address that `flow ui` has printed", 421)
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > BODY_LIMIT:
            return _text("the request is too large", 413)
        path = scope["path"]
        if path == "/healthz":
            return None
        session = self._session(scope, headers)
        scope["state"] = {**scope.get("state", {}), "session": session}
        if not session:
            return await self._login(scope, receive)
        if path == "/" and "token" in parse_qs(scope["query_string"].decode("latin-1")):
            return RedirectResponse("/", 303)  # the token does not stay in the address
        if scope["method"] not in _SAFE:
            origin = headers.get("origin", "")
            if origin not in {f"{access.scheme}://{host}" for host in access.hosts}:
                return _text("a change must come from a page of this server", 403)
            if not hmac.compare_digest(headers.get(CSRF_HEADER, ""), access.change_token(session)):
                return _text("a change needs the token of the session: load the page again", 403)
            if headers.get("content-type", "").partition(";")[0] != "application/json":
                return _text("the body must be JSON", 415)
        return None

    def _session(self, scope: Scope, headers: Headers) -> str:
        """Return the id of the session of a request; "" without one."""
        access = self._access
        if access.user_header and scope.get("client") and scope["client"][0] in access.proxies:
            user = headers.get(access.user_header, "")
            return f"user {user}" if user else ""
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return ""
        value = cookies[access.cookie].value if access.cookie in cookies else ""
        return value if access.is_session(value, time.time()) else ""

    async def _login(self, scope: Scope, receive: Receive) -> Response:
        """Return the answer to a request without a session: a session for a token or a password, or a refusal."""
        access = self._access
        query = parse_qs(scope["query_string"].decode("latin-1"))
        token = query.get("token", [""])[0]
        entrance = access.token and scope["path"] == "/" and scope["method"] == "GET"
        if entrance and hmac.compare_digest(token.encode(), access.token.encode()):
            return self._entered()
        if access.password and scope["path"] == "/login" and scope["method"] == "POST":
            form = parse_qs((await _read(receive)).decode("utf-8", "replace"))
            if hmac.compare_digest(form.get("password", [""])[0].encode(), access.password.encode()):
                return self._entered()
            return Response(
                _LOGIN.replace("<!--why-->", "<p role=alert>The password is wrong.</p>"), 403, media_type="text/html"
            )
        if access.password and scope["path"] == "/":
            return Response(_LOGIN, 401, media_type="text/html")
        return _text("open the address that `flow ui` has printed: it has the token of this server", 401)

    def _entered(self) -> Response:
        response = RedirectResponse("/", 303)
        response.set_cookie(
            self._access.cookie, self._access.new_session(time.time()), max_age=SESSION, httponly=True,
            samesite="strict", secure=self._access.secure,
        )  # fmt: skip
        return response


class _Limited:
    """The body of a request, whose sender may not send more than the limit."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._bytes = receive, 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self._bytes > BODY_LIMIT else message


async def _read(receive: Receive) -> bytes:
    """Return the body of a request, up to the limit."""
    body, limited = b"", _Limited(receive)
    while True:
        message = await limited()
        body += bytes(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return body


def _text(text: str, status: int) -> Response:
    return PlainTextResponse(f"{text}\n", status)


_LOGIN = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Streamlets</title>
<main><h1>Streamlets</h1><!--why-->
<form method="post" action="/login"><label>Password <input type="password" name="password" autofocus required></label>
<button>Open</button></form></main></html>
"""
