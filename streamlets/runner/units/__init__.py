"""The part of a run that is on Spark: its session, the site of each streamlet, its queries as units."""
