"""Its schema file is not valid JSON."""

from streamlets import AvroInlet, AvroOutlet, IntegerParameter, SparkStreamlet, SparkStreamletLogic


class Source(SparkStreamlet):
    """Makes records."""

    out = AvroOutlet("out", schema="record.avsc")

    class Logic(SparkStreamletLogic["Source"]):
        def build_streaming_queries(self):
            return []  # never reached: verification stops before anything is built


class Printer(SparkStreamlet):
    """Takes records."""

    records = AvroInlet("in", schema="id long, name string")

    class Logic(SparkStreamletLogic["Printer"]):
        def build_streaming_queries(self):
            return []  # never reached: verification stops before anything is built
