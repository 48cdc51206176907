"""The commands of `flow`, one file each."""
