"""The streamlets of the calls example."""
