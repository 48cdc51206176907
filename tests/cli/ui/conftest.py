"""A client of the page's application, without a server: it has a session, unless a test takes it away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from cli.ui.access import Access
from cli.ui.app import Options, application
from cli.ui.served import Applications
from tests.crossings.applications import KINDS, write

HOST = "127.0.0.1:8265"
ACCESS = Access(secret=b"s" * 32, token="the-token", hosts=frozenset({HOST}))


def grouped(directory: Path) -> Path:
    """Write an application with a group of two streamlets, of which one reads the other, and a third streamlet."""
    blueprint = write(KINDS["python"], directory)
    blueprint.write_text(
        """blueprint {
          streamlets { first = app.Double, second = app.Double, last = app.Double }
          topics {
            rows { consumers = [first.in], managed = false }
            between { producers = [first.out], consumers = [second.in] }
            out { producers = [second.out], consumers = [last.in] }
            end { producers = [last.out] }
          }
        }
        flow.streamlets { first.group = work, second.group = work }
        """
    )
    return blueprint


class Visitor:
    """A browser on the page of the applications below a path.

    Arguments:
        path: the path.
        access: who may see the page.
        entered: whether it has opened the printed address.
        options: of `cli.ui.app.Options`.
    """

    def __init__(self, path: Path, access: Access = ACCESS, *, entered: bool = True, **options: Any) -> None:
        self.options = Options(applications=Applications(path), access=access, **options)
        self.client = TestClient(
            application(self.options), base_url=f"{access.scheme}://{HOST}", raise_server_exceptions=True
        )
        if entered:
            assert self.client.get(f"/?token={access.token}").status_code == 200

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a change that a page of the server asks for."""
        session = self.client.cookies[self.options.access.cookie]
        return {"origin": f"http://{HOST}", "x-flow-token": self.options.access.change_token(session)}


@pytest.fixture
def visit() -> Callable[..., Visitor]:
    """Return a function that opens the page of the applications below a path."""
    return Visitor
