"""Checkpoints of queries, read from Spark's own files: content, compatibility, repair, reset."""
