"""What carries topics: one sub-package per channel behind the interfaces of `base`."""
