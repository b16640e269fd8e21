"""Reports of a bench: tables, charts, pages, and a queue for a person to adjudicate."""
