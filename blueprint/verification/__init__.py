"""Verification: from a blueprint and its settings to findings, and to a plan when there are no errors."""
