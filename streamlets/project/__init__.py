"""The project of an application: its modules, its streamlet classes, and the catalog that describes them."""
