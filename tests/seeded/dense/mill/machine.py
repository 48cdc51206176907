"""What makes paper."""

from streamlets import (
    AvroOutlet,
    DoubleParameter,
    DurationParameter,
    MemorySizeParameter,
    RegExpParameter,
    SparkStreamlet,
    SparkStreamletLogic,
)


class Nothing(SparkStreamletLogic):
    """Only what can be known without the logic is asked of these."""

    def build_streaming_queries(self):
        """No queries."""
        return []


class Machine(SparkStreamlet):
    """Rolls of paper."""

    rolls = AvroOutlet(schema="../schemas/Roll.avsc", partition_by=("site", "grade"), on_invalid="dead-letters")
    site = RegExpParameter("Where it stands", pattern="([A-Z])[A-Z]{2}")
    speed = DoubleParameter("Metres a second", default=10.0)
    pause = DurationParameter("Between rolls", default="1 second")
    buffer = MemorySizeParameter("Of the controller", default="16 MiB")
    Logic = Nothing
