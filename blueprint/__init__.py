"""The blueprint language: parsing, model, verification, comparison and drawing. It does not depend on Spark."""
