"""Spouts that follow the changes of a database table, in order."""
