"""Whether a reader's schema can read what a writer's schema has written, and why not."""
