"""The page: a run watched while it happens, and read afterwards."""
