"""The batches that a site keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from blueprint.plan import StreamletPlan
from streamlets.batches import BatchWritten
from streamlets.runner.units.site import Site, SiteContext
from streamlets.spark.listener import QueryListener


def test_a_site_keeps_a_limited_number_of_written_batches(tmp_path: Path) -> None:
    """Batches whose reports Spark drops are never requested; only the last of them are kept."""
    descriptor: Any = None
    plan = StreamletPlan(
        ref="s",
        class_name="m.S",
        descriptor=descriptor,
    )
    keeper: Any = None
    context = SiteContext(
        application="app", directory=str(tmp_path), spark=keeper, topics={}, channels={}, checkpoints=tmp_path,
        listener=QueryListener(), report=lambda fact: None,
    )  # fmt: skip
    site = Site(plan, context)
    for batch in range(10_000):
        site.take_batch(BatchWritten("s", "out", batch, {"out": batch}))
    last = site.written("out", 9999)
    assert last is not None
    assert last.rows == {"out": 9999}
    assert site.written("out", 9999) is None
    assert site.written("out", 0) is None
    assert len(site._written) < 1000
