"""Channels, which store topics: a sub-package per channel that implements the interfaces of `base`."""
