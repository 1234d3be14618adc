"""``python -m evalkit``."""

from __future__ import annotations

from evalkit.cli.main import main

main()
