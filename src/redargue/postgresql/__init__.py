"""Stores on a PostgreSQL server (extra ``postgres``)."""
