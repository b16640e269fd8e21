"""Doors for chatbots: a checking proxy for OpenAI-compatible models, and the APIs of other gateways.

:func:`redargue.service.proxy.routes.proxy_router` has the routes; docs/proxy.md describes them.
"""
