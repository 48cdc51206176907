"""What the framework knows of Spark: its launch, sessions, listeners, and the plans of queries."""
