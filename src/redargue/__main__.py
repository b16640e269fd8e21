"""``python -m redargue`` is the command ``redargue``."""

from __future__ import annotations

from redargue.cli.app import main

if __name__ == "__main__":
    main()
