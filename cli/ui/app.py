"""The server's routes: pages, the assets of pages, answers as JSON, live messages, and actions."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from blueprint.comparison.codec import DescriptorError
from cli.runs.current import current_status
from cli.ui import actions
from cli.ui.access import Access, Guard
from cli.ui.answers import changes, commands, source, streamlet, structure, topic
from cli.ui.live import Feed, mark_of, snapshot
from cli.ui.served import Applications, Served
from streamlets.channels.base import ChannelUnavailableError, TopicLostError
from streamlets.contract.wire.registry import RegistryError
from streamlets.runner.events.history import history
from streamlets.storage.damage import DamagedFileError

ASSETS = Path(__file__).parent / "assets"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

_EXPECTED = (
    ChannelUnavailableError, TopicLostError, RegistryError, DamagedFileError, OSError, commands.CommandError,
)  # fmt: skip
"""Errors that have a message for the user."""

_MOST_EVENTS = 2000
_MOST_BATCHES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a server shows and allows.

    Arguments:
        applications: the applications.
        access: who may see them.
        records: whether records of topics and dead letters are shown.
        read_only: whether no action is allowed.
        editor: the address that opens a place in an editor, with `{path}`, `{line}` and `{column}`; "" for none.
        reopen: the command that opens the page again when the server has ended with its run; "" for a server of its
            own.
    """

    applications: Applications
    access: Access
    records: bool = True
    read_only: bool = False
    editor: str = ""
    reopen: str = ""


class Page:
    """Answers the requests of pages."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._feeds: dict[str, Feed] = {}
        files = [file for file in ASSETS.rglob("*") if file.suffix in _TYPES]
        # A path of a request is looked up here and never becomes a path of a file.
        self._assets = {file.relative_to(ASSETS).as_posix(): (file.read_bytes(), _TYPES[file.suffix]) for file in files}
        self._shell = (ASSETS / "index.html").read_text(encoding="utf-8")

    def routes(self) -> list[Route]:
        """Return the routes."""
        one = "/api/applications/{id}"
        return [
            Route("/healthz", self._alive),
            Route("/assets/{name:path}", self._asset),
            Route("/api/applications", self._applications),
            Route(f"{one}/structure", self._answer(_structure)),
            Route(f"{one}/live", self._live),
            Route(f"{one}/events", self._answer(_events)),
            Route(f"{one}/streamlets/{{ref}}", self._answer(_streamlet)),
            Route(f"{one}/streamlets/{{ref}}/settings", self._answer(_settings)),
            Route(f"{one}/streamlets/{{ref}}/samples", self._answer(_samples)),
            Route(f"{one}/streamlets/{{ref}}/batches", self._answer(_batches)),
            Route(f"{one}/streamlets/{{ref}}/log", self._answer(_streamlet_log)),
            Route(f"{one}/streamlets/{{ref}}/source", self._answer(_source)),
            Route(f"{one}/streamlets/{{ref}}/tasks", self._answer(_tasks, records=True)),
            Route(f"{one}/logs", self._answer(lambda served, _: streamlet.logs(served))),
            Route(f"{one}/logs/{{name:path}}", self._answer(_log)),
            Route(f"{one}/topics", self._answer(lambda served, _: topic.topics(served))),
            Route(f"{one}/topics/{{name}}", self._answer(_topic)),
            Route(f"{one}/topics/{{name}}/records", self._answer(_records, records=True)),
            Route(f"{one}/dead-letters", self._answer(_letters, records=True)),
            Route(f"{one}/changes", self._answer(lambda served, _: changes.changes(served))),
            Route(f"{one}/findings", self._answer(lambda served, _: commands.findings(served))),
            Route(f"{one}/actions", self._act, methods=["POST"]),
            Route("/{path:path}", self._page),
        ]

    async def _alive(self, request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _page(self, request: Request) -> Response:
        if request.path_params["path"].startswith(("api/", "assets/")):
            raise HTTPException(404, "there is no such address")
        token = self._options.access.change_token(request.state.session)
        return Response(self._shell.replace("{{token}}", token), media_type="text/html")

    async def _asset(self, request: Request) -> Response:
        content, kind = self._assets.get(request.path_params["name"], (None, ""))
        if content is None:
            raise HTTPException(404, "there is no such file")
        return Response(content, media_type=kind)

    async def _applications(self, request: Request) -> Response:
        def all_of_them() -> list[dict[str, Any]]:
            return [_overview(served) for served in self._options.applications.all().values()]

        options = {name: getattr(self._options, name) for name in ("records", "read_only", "editor", "reopen")}
        return JSONResponse({**options, "applications": await to_thread.run_sync(all_of_them)})

    def _answer(self, find: Callable[[Served, Request], Any], *, records: bool = False) -> Callable[[Request], Any]:
        """Return a handler of requests about an application, which calls a function in a thread of its own."""

        async def answer(request: Request) -> Response:
            if records and not self._options.records:
                raise HTTPException(403, "this server shows no records: start it with `--records`")
            served = await self._served(request)
            data = await to_thread.run_sync(_expected, find, served, request)
            if data is None:
                raise HTTPException(404, f"{served.name} has nothing with this name")
            return JSONResponse(data)

        return answer

    async def _served(self, request: Request) -> Served:
        served = await to_thread.run_sync(self._options.applications.get, request.path_params["id"])
        if served is None:
            raise HTTPException(404, "there is no such application")
        return served

    async def _live(self, request: Request) -> Response:
        served = await self._served(request)
        feed = self._feeds.setdefault(served.id, Feed(served.state))
        after = mark_of(request.headers.get("last-event-id", "") or request.query_params.get("after", ""))

        async def messages() -> AsyncIterator[str]:
            async with aclosing(feed.follow(after)) as following:  # type: ignore[type-var]
                async for message in following:
                    yield message

        return StreamingResponse(messages(), media_type="text/event-stream")

    async def _act(self, request: Request) -> Response:
        if self._options.read_only:
            raise HTTPException(403, "this server is read-only: use the command, or start it without `--read-only`")
        served = await self._served(request)
        try:
            wanted = await request.json()
        except (ValueError, RecursionError):
            raise HTTPException(400, "the body is not JSON") from None
        except ClientDisconnect:
            raise HTTPException(413, "the request is too large") from None
        if not isinstance(wanted, dict):
            raise HTTPException(400, "the body must be a JSON object")
        try:
            done = await to_thread.run_sync(_expected, actions.act, served, wanted)
        except actions.RefusedError as error:
            raise HTTPException(409, str(error)) from None
        return JSONResponse(done)


def application(options: Options) -> Starlette:
    """Return the application that a server runs."""
    return Starlette(
        routes=Page(options).routes(),
        middleware=[Middleware(Guard, access=options.access), Middleware(GZipMiddleware, minimum_size=1000)],
        exception_handlers={HTTPException: _failed},
    )


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


def _expected(find: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function about an application; what can go wrong with it becomes an answer with its message.

    Arguments:
        find: the function.
        arguments: its arguments; the first one is the application.
    """
    try:
        return find(*arguments)
    except (DescriptorError, UnicodeDecodeError) as error:
        file = arguments[0].state.descriptor_file
        raise HTTPException(
            503, f"{file} cannot be read: {error}; the next start of the application writes it"
        ) from error
    except _EXPECTED as error:
        raise HTTPException(503, str(error)) from error


def _overview(served: Served) -> dict[str, Any]:
    now = snapshot(current_status(served.state))
    states: dict[str, int] = {}
    for each in now.streamlets.values():
        word = str(each["state"] if each["health"] == "healthy" else each["health"])
        states[word] = states.get(word, 0) + 1
    return {"id": served.id, "name": served.name, "place": str(served.state.directory), **now.run, "states": states}


def _structure(served: Served, request: Request) -> Any:
    return structure.structure(served, request.query_params.getlist("collapsed"))


def _events(served: Served, request: Request) -> Any:
    most = _number(request, "most", 500, _MOST_EVENTS)
    return [asdict(event) for event in history(served.state.event_history, most=most)]


def _streamlet(served: Served, request: Request) -> Any:
    return streamlet.streamlet(served, request.path_params["ref"])


def _settings(served: Served, request: Request) -> Any:
    ref = request.path_params["ref"]
    return commands.settings(served, ref) if streamlet.streamlet(served, ref) is not None else None


def _samples(served: Served, request: Request) -> Any:
    seconds = _number(request, "seconds", 3600, 86_400)
    return streamlet.samples(served, request.path_params["ref"], time.time() - seconds)


def _batches(served: Served, request: Request) -> Any:
    return streamlet.batches(served, request.path_params["ref"], _number(request, "most", 60, _MOST_BATCHES))


def _streamlet_log(served: Served, request: Request) -> Any:
    return streamlet.log_of(served, request.path_params["ref"])


def _source(served: Served, request: Request) -> Any:
    return source.source(served, request.path_params["ref"])


def _tasks(served: Served, request: Request) -> Any:
    count, every = _number(request, "count", 50, source.MOST_TASKS), request.query_params.get("state") == "all"
    return source.tasks(served, request.path_params["ref"], every=every, count=count)


def _log(served: Served, request: Request) -> Any:
    return streamlet.log(served, request.path_params["name"])


def _topic(served: Served, request: Request) -> Any:
    return topic.topic(served, request.path_params["name"])


def _records(served: Served, request: Request) -> Any:
    count = _number(request, "count", 50, topic.MOST_RECORDS)
    text, field = (request.query_params.get(name, "") for name in ("containing", "field"))
    return topic.records(served, request.path_params["name"], count=count, containing=text, field=field)


def _letters(served: Served, request: Request) -> Any:
    port, reason = (request.query_params.get(name, "") for name in ("port", "reason"))
    return topic.letters(served, port=port, reason=reason, count=_number(request, "count", 50, topic.MOST_RECORDS))


def _number(request: Request, name: str, default: int, most: int) -> int:
    """Return a number of a query; what is not one is the default."""
    text = request.query_params.get(name, "")
    return min(int(text), most) if text.isascii() and text.isdigit() and len(text) < 10 else default
