"""Doors for chatbots: a checking proxy for OpenAI-compatible models, and the APIs of other gateways.

:func:`redargue.service.proxy.routes.router` has the routes; docs/proxy.md describes them.
"""
