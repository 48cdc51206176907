"""The resources of an application: what a run needs before it starts, and what may be deleted after a clean end."""
