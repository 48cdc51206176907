"""Avro schemas: loading, resolution with reasons, fingerprints, and their Spark type names."""
