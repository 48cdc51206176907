"""The batches of a run as traces of OpenTelemetry: a view of its events."""
