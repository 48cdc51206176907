"""Metrics of a run for Prometheus, and the probes of a container (extra `streamlets[metrics]`)."""
