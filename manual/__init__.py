"""Builds the documentation site from `docs/`, the examples' pages, and the reference, which the code generates."""
