"""Checkpoints of queries, read from Spark's own files: what they tell, whether they fit, mending, resetting."""
