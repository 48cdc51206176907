"""A shop whose orders must each be settled once, whatever breaks on the way."""
