"""Everything that happens in a run, and the views of it: status, lines, log. No Spark."""
