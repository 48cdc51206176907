"""The example of a paged API: pages with known ETags are not read again."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.pages.paged import ProductPages
from examples.pages.server import Api
from streamlets.testkit import Testkit
from tests.examples.test_orders import flow

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "pages"


@pytest.fixture
def api() -> Iterator[Api]:
    """A server of its own."""
    with Api(0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_unchanged_pages_are_not_read_again(api: Api, tmp_path: Path) -> None:
    """A changed page is; discoveries ask for headers only."""
    with Testkit(directory=tmp_path / "kit") as kit:
        source = kit.batch_source(ProductPages, parameters={"url": api.url})
        assert [task["url"].rpartition("/")[2] for task in source.discover()] == [
            "products", "products?page=2", "products?page=3", "products?page=4",
        ]  # fmt: skip
        assert source.step().records == 35
        assert source.discover() == [] and api.requests == {"HEAD": 8, "GET": 4}
        _change(api, 12, 3.5)
        (page,) = source.discover()
        assert page["url"].endswith("page=2") and source.step().records == 10
        changed = [row for row in source.outlet("out").all() if row["id"] == 12]
        assert [row["price"] for row in changed] == [4.0, 3.5]


def test_a_page_that_changes_before_it_is_read_is_read_in_its_new_version(api: Api, tmp_path: Path) -> None:
    """The old version yields nothing, and the next discovery has the new one."""
    with Testkit(directory=tmp_path / "kit") as kit:
        source = kit.batch_source(ProductPages, parameters={"url": api.url})
        source.discover()
        _change(api, 0, 9.0)
        assert source.step().records == 25
        assert len(source.discover()) == 1 and source.step().records == 10


def test_a_server_that_is_busy_for_a_while(api: Api, tmp_path: Path) -> None:
    """A discovery fails; a page is tried again."""
    with Testkit(directory=tmp_path / "kit") as kit:
        source = kit.batch_source(ProductPages, parameters={"url": api.url, "max-task-attempts": 5})
        api.failures = 1
        with pytest.raises(OSError, match="503"):
            source.discover()
        source.discover()
        api.failures = 2
        step = source.step()
        assert (step.records, step.failed, step.pauses) == (35, (), (1.0, 2.0))


def test_the_blueprint_is_valid() -> None:
    """Without a server, too."""
    assert "fires next" in flow("verify", str(EXAMPLE))


@pytest.mark.full
@pytest.mark.spark
def test_the_example_runs(api: Api, tmp_path: Path) -> None:
    """Two bounded runs on Spark: the second one reads the changed page only."""
    settings = f'flow.streamlets.products.parameters.url="{api.url}"'
    state = str(tmp_path / "state")
    out = f"flow.streamlets.archive.parameters.options.path={tmp_path / 'out'}"
    for records in (35, 45):
        flow("run", "--available-now", str(EXAMPLE), "--state-dir", state, settings, out)
        files = (tmp_path / "out").glob("*.json")
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        assert len(rows) == records
        _change(api, 12, 3.5)


def _change(api: Api, product: int, price: float) -> None:
    body = json.dumps({"price": price}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{api.url}/{product}", data=body, method="PUT")):
        pass
