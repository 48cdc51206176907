"""The drivers of a run: one Spark for all streamlets in the runner, or driver processes."""
