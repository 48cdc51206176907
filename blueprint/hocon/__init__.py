"""HOCON, JSON and YAML read into values that know where they were written."""
