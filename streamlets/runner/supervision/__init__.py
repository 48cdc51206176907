"""Starts units, watches them, restarts them, and stops them in order; independent of Spark."""
