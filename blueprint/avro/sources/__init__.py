"""Where schemas come from: `.avsc` files, dictionaries, dataclasses and Spark DDL."""
