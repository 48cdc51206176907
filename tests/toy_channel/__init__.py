"""A small channel of another package: a topic is a database of SQLite with a row per commit."""
