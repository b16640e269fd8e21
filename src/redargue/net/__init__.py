"""Sends requests: transport, rate limits, services and their keys."""
