"""The rules of `flow verify`, one file per family; a rule is a function from a draft to findings."""
