"""What a sink tells when it cannot take a batch: one sentence with its place."""

from __future__ import annotations


class SinkError(Exception):
    """The sink cannot take the batch; nothing of it is visible, unless an earlier attempt had decided it."""


class ExistingFilesError(SinkError):
    """The folder holds what the sink wrote before its checkpoint was begun anew; the configuration must say what
    becomes of it."""
