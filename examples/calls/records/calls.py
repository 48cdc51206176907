"""The ingress: call records from the files of an exchange."""

from __future__ import annotations

from streamlets import AvroOutlet, PathParameter, Queries, SparkStreamlet, SparkStreamletLogic, StringParameter

COLUMNS = "user string, other string, direction string, began timestamp, seconds int"


class Calls(SparkStreamlet):
    """Reads the files of a directory, also those that arrive later; what is not a call becomes a dead letter."""

    calls = AvroOutlet(schema="../schemas/Call.avsc", on_invalid="dead-letters")
    directory = PathParameter("The directory of the files", kind="directory", must_exist=True)
    format = StringParameter("The format of the files", choices=("csv", "json"))

    class Logic(SparkStreamletLogic["Calls"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            files = self.source(
                "files",
                format=self.value(me.format),
                schema=COLUMNS,
                options={"path": str(self.value(me.directory)), "header": True},  # JSON files ignore `header`
            )
            return self.write_stream(files, me.calls)
