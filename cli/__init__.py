"""The command `flow`: parse arguments, call, render."""
