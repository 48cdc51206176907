"""A small application for tests of sinks: numbers from files, through a topic, to a sink."""

from __future__ import annotations

from pathlib import Path

MODULE = """
from streamlets import AvroOutlet, SparkStreamlet, SparkStreamletLogic

class Source(SparkStreamlet):
    out = AvroOutlet(schema="id long")

    class Logic(SparkStreamletLogic):
        def build_streaming_queries(self):
            options = {"path": self.context.path("in"), "maxFilesPerTrigger": 1}
            rows = self.source("files", format="csv", schema="id long", options=options)
            return self.write_stream(rows, self.streamlet.out)
"""
BLUEPRINT = """
blueprint {
  streamlets {
    numbers = counting.Source
    archive { class = streamlets.Sink, parameters { to = TO, options { OPTIONS } } }
  }
  topics { ids { producers = [numbers.out], consumers = [archive.in] } }
}
flow.application = numbers
"""


def numbers_application(root: Path, to: str, options: str) -> Path:
    """Write an application that reads three numbers, and return its directory.

    Arguments:
        root: its directory, which exists.
        to: the name of the sink.
        options: the options of the sink as in the blueprint.
    """
    (root / "counting.py").write_text(MODULE)
    (root / "blueprint.conf").write_text(BLUEPRINT.replace("TO", to).replace("OPTIONS", options))
    (root / "in").mkdir()
    (root / "in" / "first.csv").write_text("1\n2\n3\n")
    return root
