"""Samples of the last hour and the last day of an application, in its state directory."""
