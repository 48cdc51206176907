"""Files on a local or mounted file system, created if absent or replaced, both atomically."""
