"""Two steps that feed each other."""

from streamlets import AvroInlet, AvroOutlet, IntegerParameter, SparkStreamlet, SparkStreamletLogic


class Source(SparkStreamlet):
    """Makes records."""

    out = AvroOutlet("out", schema="id long, name string")

    class Logic(SparkStreamletLogic["Source"]):
        def build_streaming_queries(self):
            return []  # never reached: verification stops before anything is built


class Merge(SparkStreamlet):
    """Merges two streams."""

    records = AvroInlet("in", schema="id long, name string")
    again = AvroInlet("again", schema="id long, name string")
    out = AvroOutlet("out", schema="id long, name string")

    class Logic(SparkStreamletLogic["Merge"]):
        def build_streaming_queries(self):
            return []  # never reached: verification stops before anything is built


class Step(SparkStreamlet):
    """Passes records on."""

    records = AvroInlet("in", schema="id long, name string")
    out = AvroOutlet("out", schema="id long, name string")

    class Logic(SparkStreamletLogic["Step"]):
        def build_streaming_queries(self):
            return []  # never reached: verification stops before anything is built
