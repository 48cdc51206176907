"""The source `http`: pages of JSON from a server."""
