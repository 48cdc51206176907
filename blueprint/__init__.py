"""The blueprint language: parse, model, check, draw. Knows nothing of Spark."""
