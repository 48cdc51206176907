"""The contract at every port: DataFrames and Arrow batches in, the same out. Knows nothing of channels."""
