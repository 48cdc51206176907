"""The sink `jdbc`: a table of a database, which each batch changes once, in one transaction."""
