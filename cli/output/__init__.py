"""What commands print: tables, Markdown, live views, quantities."""
