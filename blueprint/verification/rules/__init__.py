"""The rules of `flow verify`: one file per family; a rule is a function to diagnostics."""
