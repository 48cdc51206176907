"""The example of an application without code: files and a server, joined in SQL into Parquet."""

from __future__ import annotations

import functools
import shutil
import threading
from collections.abc import Iterator
from decimal import Decimal
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from streamlets.testkit import Testkit
from tests.examples.test_orders import flow

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "sources"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """Provide a copy of the example."""
    return shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns(".flow", "out"))


@pytest.fixture
def url(example: Path) -> Iterator[str]:
    """Provide the URL of a server of its products."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            """Print nothing."""

    handler = functools.partial(Handler, directory=str(example / "api"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/products.json"
        server.shutdown()
        thread.join()


def test_the_blueprint_is_valid() -> None:
    """Without a server, too."""
    assert "no findings" in flow("verify", str(EXAMPLE))


@pytest.mark.spark
def test_orders_are_sold(example: Path, url: str, kit: Testkit) -> None:
    """Each order once; the broken one is a dead letter with its file and line. Then only what is new is read."""
    app = kit.application(
        example / "blueprint.conf", arguments=[f'flow.streamlets.products.parameters.options.url="{url}"']
    )
    app.step()
    rows = app.topic("sold").take()
    assert sorted((row["id"], str(row["day"]), row["product"], row["total"]) for row in rows) == [
        (1, "2026-11-23", "apple", Decimal("0.75")),
        (2, "2026-11-23", "pear", Decimal("0.40")),
        (3, "2026-11-24", "apple", Decimal("0.50")),
        (5, "2026-11-24", "fig", Decimal("4.40")),
    ]
    (letter,) = app.topic("dead-letters.orders").take()
    assert "day=2026-11-24/orders.csv, line 3: `product`" in letter["reason"]
    (example / "data" / "day=2026-11-24" / "more.csv").write_text("product,id,quantity\n2,6,5\n")
    app.step()
    assert [row["id"] for row in app.topic("sold").take()] == [6]
