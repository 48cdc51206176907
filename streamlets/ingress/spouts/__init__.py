"""Spouts: programs and generators that deliver data in transactions, each of which is one commit of its topic."""
