"""The runtime, and the API that authors import. Importing it starts nothing."""
