"""Runs a plan: units, their supervisor, events and status."""
