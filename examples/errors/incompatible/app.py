"""The source writes what the printer cannot read."""

from streamlets import AvroInlet, AvroOutlet, IntegerParameter, SparkStreamlet, SparkStreamletLogic


class Source(SparkStreamlet):
    """Makes records."""

    out = AvroOutlet("out", schema="source.avsc")

    class Logic(SparkStreamletLogic["Source"]):
        def build_streaming_queries(self):
            return []  # never reached: verification stops before anything is built


class Printer(SparkStreamlet):
    """Takes records."""

    records = AvroInlet("in", schema="printer.avsc")

    class Logic(SparkStreamletLogic["Printer"]):
        def build_streaming_queries(self):
            return []  # never reached: verification stops before anything is built
