"""The sinks that write files, which replace themselves if a batch runs again."""
