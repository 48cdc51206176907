"""Spark: its launch, sessions, listeners, failures, and the plans of queries."""
