"""Java and what runs on it besides Spark itself: artifacts from Maven repositories, and the connectors of channels."""
