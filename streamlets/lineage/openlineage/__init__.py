"""OpenLineage events of a run: a view of its events, for catalogs of other tools."""
