"""Sinks of egresses."""
