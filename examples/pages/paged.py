"""Products from a paged HTTP API: a batch source with a task for each page, of which it knows the ETags."""

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin
from urllib.request import Request, urlopen

from streamlets import AvroOutlet, BatchSource, Eat, SourceContext, StringParameter

PRODUCT = "id long, name string, price double"
SECONDS = 10
"""How long the server may take for an answer."""


class ProductPages(BatchSource):
    """Reads each page of an API once, and again after its ETag has changed."""

    out = AvroOutlet(schema=PRODUCT)
    url = StringParameter("The address of the first page")

    def open(self, config: Mapping[str, Any], context: SourceContext) -> None:
        self._url: str = config[self.url.key]

    def discover(self, eat: Eat, event: str) -> None:
        page: str | None = self._url
        while page is not None:
            with urlopen(Request(page, method="HEAD"), timeout=SECONDS) as answer:
                etag = answer.headers["ETag"]
                following = re.search(r'<([^>]+)>; *rel="?next', answer.headers.get("Link", ""))
            eat({"url": page, "etag": etag}, key=f"{page} {etag}")  # dropped if this version of the page is known
            page = urljoin(page, following[1]) if following else None

    def prepare(self, task: Any) -> None:
        with urlopen(Request(task["url"]), timeout=SECONDS) as answer:
            # A page that has changed since is left to the next discovery, which passes its new version.
            current = answer.headers["ETag"] == task["etag"]
            self._left: list[dict[str, Any]] = json.load(answer) if current else []

    def read_next(self) -> dict[str, Any] | None:
        if not self._left:
            return None
        product = self._left.pop(0)
        return {"id": product["id"], "name": product["name"], "price": float(product["price"])}
