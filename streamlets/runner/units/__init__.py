"""What of a run is on Spark: its session, the place of each streamlet, its queries as units."""
