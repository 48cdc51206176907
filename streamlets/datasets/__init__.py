"""Records of topics as files: written, read and compared."""
