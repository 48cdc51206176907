"""Batch sources: a discovery in the runner finds tasks, and Spark reads them in parallel, losing none."""
