"""Schemas that are proposed for samples of sources, and schemas that are compared with samples."""
