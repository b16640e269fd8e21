"""What the small models play of the shared tasks: importing this module registers it."""

from __future__ import annotations

from redargue.backends import acting as acting
