"""Asks language models: prompts, requests, and the reading of replies."""
