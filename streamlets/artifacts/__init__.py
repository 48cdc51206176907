"""Java and its libraries besides Spark: artifacts from Maven repositories, and the connectors of channels."""
