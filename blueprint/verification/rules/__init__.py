"""The rules of `flow verify`, one file per family.

A rule is a function from a draft to findings; its docstring states what is true in a valid application.
"""
