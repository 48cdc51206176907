"""`SinkError`: a sink that cannot take a batch, said in one sentence with its place."""

from __future__ import annotations


class SinkError(Exception):
    """The sink cannot take the batch; nothing of it is visible, unless an earlier attempt had decided it."""
