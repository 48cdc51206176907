"""Bounded runs of one streamlet over a range of its topics, with state of their own beside the application."""
