"""Adapters for test frameworks and agent frameworks; each module needs the framework that it is named after."""
