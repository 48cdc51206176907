"""`streamlets.Sql`: streams defined, transformed and saved by SQL statements."""

from streamlets.sql.streamlet import Sql

__all__ = ["Sql"]
