"""Checks of what a run needs, for `flow doctor`: this machine, the state directory, jars and servers."""
