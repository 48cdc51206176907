"""Functions that several modules share."""

from pyspark.sql import functions as F
from pyspark.sql.types import LongType


@F.udf(returnType=LongType())
def thrice(n: int) -> int:
    """Return three times a number."""
    return 3 * n
