"""Spark's clusters: what a run must know of the machines that its tasks run on."""
