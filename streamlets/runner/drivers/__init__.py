"""Where the streamlets of a run are run: on one Spark in the runner, or in driver processes of their own."""
