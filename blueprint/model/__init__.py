"""The blueprint as data: read from a configuration tree, wired, and as a graph."""
