"""Starts units, watches them, restarts them, stops them in order. No Spark."""
