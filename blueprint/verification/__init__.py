"""Verification: from a blueprint and its settings to findings, and to a plan if there are no errors."""
