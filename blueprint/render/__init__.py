"""The graph of an application drawn: one layered layout, one small file per format."""
