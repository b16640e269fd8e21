"""Requests to services: transport, rate limits, addresses and keys."""
