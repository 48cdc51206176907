"""The streamlets of a paper mill."""
