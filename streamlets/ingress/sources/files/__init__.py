"""Sources of files: each file is a task, known by its path, size and time of modification."""
