"""Gauges and their moving averages."""
