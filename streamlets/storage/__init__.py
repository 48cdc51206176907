"""Files on a local or mounted file system: written if absent, or replaced, in one step."""
