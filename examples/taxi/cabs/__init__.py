"""The streamlets of the taxi example."""
