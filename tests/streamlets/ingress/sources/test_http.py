"""The source `http` with a real server: pages, news, failures and secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamlets.ingress.sources.http.client import Client, RequestFailedError
from streamlets.ingress.sources.http.pages import PageError
from streamlets.ingress.sources.http.type import _Memory
from streamlets.testkit import Testkit
from tests.streamlets.ingress.sources.api import Api, serving
from tests.streamlets.ingress.sources.bench import Bench

SCHEMA = "id long NOT NULL, at string, price decimal(20,2)"


@pytest.fixture
def api() -> Iterator[Api]:
    """Provide a server with seven records."""
    with serving() as server:
        server.records = [record(number) for number in range(7)]
        yield server


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Testkit]:
    """Provide a kit."""
    with Testkit(directory=tmp_path / "kit") as created:
        yield created


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlets.ingress.sources.http.client.time.sleep", lambda seconds: None)


def record(number: int) -> dict[str, Any]:
    """Return a record; two of them have the same time."""
    return {"id": number, "at": f"2024-01-{number // 2 + 1:02}", "price": 0.1, "more": {"x": [number]}}


def ids(bench: Bench) -> list[int]:
    """Read what is new, and return the ids."""
    return [row["id"] for row in bench.read()]


PAGING: list[dict[str, Any]] = [
    {"url": "/all"},
    {"url": "/link", "paging": "link"},
    {"url": "/cursor", "paging": "cursor", "cursor": "meta.next", "records": "data.items"},
    {"url": "/urls", "paging": "cursor", "cursor": "meta.next", "records": "data.items"},
    {"url": "/page", "paging": "page"},
    {"url": "/offset?z=1", "paging": "offset"},
]


def bench_of(kit: Testkit, tmp_path: Path, api: Api, options: dict[str, Any], **more: Any) -> Bench:
    """Return a source of the server."""
    return Bench(kit, tmp_path / "data", "http", SCHEMA, **{**options, "url": api.url + options["url"], **more})


@pytest.mark.parametrize("options", PAGING, ids=lambda options: options["url"])
def test_pages(kit: Testkit, tmp_path: Path, api: Api, options: dict[str, Any]) -> None:
    """All records once; unchanged pages are not read again, and a changed one is."""
    bench = bench_of(kit, tmp_path, api, options)
    assert ids(bench) == [*range(7)]
    assert ids(bench) == []
    api.records[4] = {**api.records[4], "price": 9.25}
    again = ids(bench)
    assert again == ([*range(7)] if options["url"] == "/all" else [3, 4, 5])
    assert bench.letters() == []


@pytest.mark.parametrize("options", [PAGING[0], PAGING[1], PAGING[3]], ids=lambda options: options["url"])
def test_only_news_are_read(kit: Testkit, tmp_path: Path, api: Api, options: dict[str, Any]) -> None:
    """Each record once, although the server answers `since` inclusively; a late one with the same time, too."""
    bench = bench_of(kit, tmp_path, api, options, since_field="at", since_parameter="since", since_initial="2024-01-02")
    assert ids(bench) == [2, 3, 4, 5, 6]
    assert ids(bench) == []
    assert any("since=2024-01-04" in request for request in api.requests)
    api.records.append({**record(7), "at": "2024-01-04"})
    bench.source.restart()
    assert ids(bench) == [7] and ids(bench) == []
    api.records += [record(number) for number in range(8, 15)]
    assert ids(bench) == [*range(8, 15)] and ids(bench) == []


def test_an_interrupted_discovery_goes_on(kit: Testkit, tmp_path: Path, api: Api) -> None:
    """At the page that failed, also if records arrived meanwhile; so none is doubled."""
    bench = bench_of(kit, tmp_path, api, PAGING[3], since_field="at", since_parameter="since", attempts=2)
    api.failures = [(0, {}), (500, {}), ("cut", {})]
    with pytest.raises(RequestFailedError, match="sent 2 times"):
        bench.source.discover()
    bench.source.restart()
    assert [task["records"] for task in bench.source.waiting] == [3]
    api.records += [record(7)]
    asked = len(api.requests)
    assert sorted(ids(bench)) == [*range(8)]
    assert "cursor=c3" in api.requests[asked], "the first page was not requested again"


def test_an_expired_cursor_begins_again(kit: Testkit, tmp_path: Path, api: Api) -> None:
    """The pages that were read are known."""
    bench = bench_of(kit, tmp_path, api, PAGING[2], attempts=1)
    api.failures = [(0, {}), (503, {})]
    with pytest.raises(RequestFailedError):
        bench.source.discover()
    api.failures = [(410, {})]
    assert sorted(ids(bench)) == [*range(7)]


def test_a_limit_of_pages(kit: Testkit, tmp_path: Path, api: Api) -> None:
    """The next discovery goes on."""
    bench = bench_of(kit, tmp_path, api, PAGING[2], max_pages=2)
    assert ids(bench) == [*range(6)]
    assert ids(bench) == [6]


def test_records_that_do_not_fit(kit: Testkit, tmp_path: Path, api: Api) -> None:
    """They are dead letters with the URL and the number; decimals keep their digits."""
    api.records = [{"id": 1, "price": 12345678901234.25}, {"id": "x"}, "text", {"id": 4}]  # type: ignore[list-item]
    bench = bench_of(kit, tmp_path, api, PAGING[0])
    rows = bench.read()
    assert [(row["id"], str(row["price"])) for row in rows] == [(1, "12345678901234.25"), (4, "None")]
    assert [reason for _, reason in bench.letters()] == [
        f"{api.url}/all, record 2: `id`: is a `str` ('x'), expected `long`",
        f'{api.url}/all, record 3: is not a JSON object, but "text"',
    ]


def test_answers_that_are_not_as_configured(kit: Testkit, tmp_path: Path, api: Api) -> None:
    """The discovery fails with what was found."""
    with pytest.raises(ValueError, match="must be an array of records, but is missing"):
        bench_of(kit, tmp_path, api, {"url": "/all", "records": "data"}).source.discover()
    with Testkit(directory=tmp_path / "second") as second, pytest.raises(RequestFailedError, match="larger than"):
        bench_of(second, tmp_path, api, {"url": "/all"}, max_size="10 b").source.discover()


@pytest.mark.parametrize("zipped", [False, True])
def test_a_busy_server(kit: Testkit, tmp_path: Path, api: Api, zipped: bool) -> None:
    """Requests are sent again, also when an answer is incomplete."""
    api.zipped = zipped
    api.failures = [(503, {}), ("cut", {}), (429, {"Retry-After": "7"})]
    assert ids(bench_of(kit, tmp_path, api, PAGING[0])) == [*range(7)]


def test_pauses(api: Api) -> None:
    """They double, unless the server says how long to wait."""
    pauses: list[float] = []
    client = Client(attempts=6, sleep=pauses.append, clock=lambda: 1_000_000_000)
    later = "Sun, 09 Sep 2001 01:46:50 GMT"  # ten seconds after the clock
    api.failures = [(500, {}), (429, {"Retry-After": "7"}), (503, {"Retry-After": later}), (502, {}), (503, {})]
    client.get(f"{api.url}/all")
    assert pauses == [1, 7, 10, 8, 16]
    api.failures = [(404, {})]
    with pytest.raises(RequestFailedError, match="404 Not Found"):
        client.get(f"{api.url}/all")
    assert len(pauses) == 5, "what the client has done wrong is not repeated"


def test_a_server_that_is_not_there() -> None:
    """The reason is that of the system."""
    with pytest.raises(RequestFailedError, match=r"refused.*sent 2 times"):
        Client(attempts=2, sleep=lambda seconds: None).get("http://127.0.0.1:9/")


def test_secrets(kit: Testkit, tmp_path: Path, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are sent, and are neither in tasks nor in the plan."""
    monkeypatch.setenv("API_TOKEN", "hidden-token")
    api.token = "Bearer hidden-token"
    token = {"token": {"env": "API_TOKEN"}, "headers": {"X-Tenant": "shop"}}
    bench = bench_of(kit, tmp_path, api, PAGING[1], **token)
    tasks = bench.source.discover()
    assert len(tasks) == 3 and api.headers["X-Tenant"] == "shop"
    assert "hidden-token" not in repr((tasks, bench.source.plan))
    api.token = "Bearer another"
    with pytest.raises(RequestFailedError, match="401"):
        bench.source.discover()


def test_a_token_in_another_header(kit: Testkit, tmp_path: Path, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is."""
    monkeypatch.setenv("API_TOKEN", "hidden-token")
    bench_of(kit, tmp_path, api, PAGING[0], token={"env": "API_TOKEN"}, header="X-Api-Key").source.discover()
    assert api.headers["X-Api-Key"] == "hidden-token" and "Authorization" not in api.headers


def test_basic_authentication(kit: Testkit, tmp_path: Path, api: Api) -> None:
    """With a password from a file."""
    (tmp_path / "password").write_text("open\n")
    api.token = "Basic YW5uOm9wZW4="
    password = {"file": str(tmp_path / "password")}
    assert ids(bench_of(kit, tmp_path, api, PAGING[0], user="ann", password=password)) == [*range(7)]


def test_secrets_stay_with_their_server(
    kit: Testkit, tmp_path: Path, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A redirect to another server does not get them, and a next page on another server is refused."""
    monkeypatch.setenv("API_TOKEN", "hidden-token")
    with serving() as other:
        other.records = [record(0)]
        api.failures = [(302, {"Location": f"{other.url}/all"})]
        bench = bench_of(kit, tmp_path, api, PAGING[0], token={"env": "API_TOKEN"})
        assert ids(bench) == [0] and "Authorization" not in other.headers
    with Testkit(directory=tmp_path / "second") as second:
        api.records = [{"next": "http://127.0.0.1:9/elsewhere"}]
        bench = bench_of(second, tmp_path, api, {"url": "/cursor", "paging": "cursor", "cursor": "meta.next",
                                                 "records": "data.items"})  # fmt: skip
        monkeypatch.setattr("streamlets.ingress.sources.http.pages.at_path", _elsewhere)
        with pytest.raises(ValueError, match="is on another server"):
            bench.source.discover()


def _elsewhere(value: Any, path: str) -> Any:
    return "http://127.0.0.1:9/elsewhere" if path == "meta.next" else value["data"]["items"]


def test_what_another_source_has_remembered_is_ignored() -> None:
    """Such as after a change of `from`, of the path of the URL, or of the field."""
    memory = _Memory.of(None, ["/orders", "at"])
    assert not memory.is_known({"at": "2024"}, "at")
    memory.end()
    assert memory.since == "2024"
    stored = json.loads(json.dumps(memory.stored))
    assert _Memory.of(stored, ["/orders", "at"]).since == "2024"
    assert _Memory.of(stored, ["/others", "at"]).since is None
    assert _Memory.of({"of": ["t", "id"], "after": 5}, ["/orders", "at"]).since is None


def test_text_that_is_not_unicode(kit: Testkit, tmp_path: Path, api: Api) -> None:
    """Halves of characters are a dead letter, and neither the page nor what is remembered is in the way of others."""
    api.records = [{"id": 1, "at": "b"}, {"id": 2, "at": "\ud800x"}, {"id": 3, "at": "a"}]
    options = {"url": "/all", "since_field": "at", "since_parameter": "later"}
    bench = bench_of(kit, tmp_path, api, options)
    assert ids(bench) == [1, 3]
    assert bench.letters() == [('{"id": 2, "at": "\\ud800x"}', f"{api.url}/all, record 2: `at`: is not valid UTF-8")]
    api.records.append({"id": 4, "at": "z"})
    assert 4 in ids(bench)


@pytest.mark.parametrize("limit", [1000, 2])
def test_a_cursor_that_was_seen_before(kit: Testkit, tmp_path: Path, api: Api, limit: int) -> None:
    """The discovery fails, and does not request the same pages for ever."""
    options = {"url": "/loop", "paging": "cursor", "cursor": "next", "records": "items", "max_pages": limit}
    bench = bench_of(kit, tmp_path, api, options)
    with pytest.raises(PageError, match=r"the cursor `[ab]` was seen before"):
        for _ in range(2):
            bench.source.discover()
    assert len(api.requests) <= 4
