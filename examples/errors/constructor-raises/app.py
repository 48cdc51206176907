"""A source whose constructor wants an environment variable."""

import os

from streamlets import AvroInlet, AvroOutlet, IntegerParameter, SparkStreamlet, SparkStreamletLogic


def read_names(variable):
    return os.environ[variable].split(",")


class Source(SparkStreamlet):
    """Makes records."""

    out = AvroOutlet("out", schema="id long, name string")

    def __init__(self):
        super().__init__()
        self.names = read_names("GAUGE_NAMES")

    class Logic(SparkStreamletLogic["Source"]):
        def build_streaming_queries(self):
            return []  # never reached: verification stops before anything is built


class Printer(SparkStreamlet):
    """Takes records."""

    records = AvroInlet("in", schema="id long, name string")

    class Logic(SparkStreamletLogic["Printer"]):
        def build_streaming_queries(self):
            return []  # never reached: verification stops before anything is built
