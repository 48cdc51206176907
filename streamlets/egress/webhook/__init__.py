"""The sink `webhook`, which sends records to a server by HTTP."""
