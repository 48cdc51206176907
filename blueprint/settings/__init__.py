"""Settings: which exist, where their values come from, and the values with their types."""
