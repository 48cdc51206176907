"""The streamlets of my-app."""
