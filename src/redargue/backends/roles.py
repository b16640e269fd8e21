"""Every role of the embedded backend: importing this module registers them, one import line each."""

from __future__ import annotations

from redargue.backends import debating as debating
from redargue.backends import discussing as discussing
from redargue.backends import entailing as entailing
from redargue.backends import programs as programs
from redargue.backends import searching as searching
