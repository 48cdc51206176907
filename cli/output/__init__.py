"""The output of commands: tables, Markdown, live views, quantities, errors."""
