"""The commands of `flow`."""
