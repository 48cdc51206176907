"""Feed inlets, step, read outlets: through the same contracts and real checkpoints."""
