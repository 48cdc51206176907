"""The directory in which an application keeps what must outlive a run, and what other terminals leave there."""
