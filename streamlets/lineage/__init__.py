"""Column lineage: from which columns of which inlets each column of an outlet comes, before anything runs."""
