"""The project of an application: its modules, its streamlet classes, and what the language asks about them."""
