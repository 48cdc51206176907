"""Dead letters: read, counted, replayed."""
