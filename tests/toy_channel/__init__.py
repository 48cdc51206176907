"""A small channel of another package: a topic is a directory of numbered Arrow files."""
