"""Checks of `op_db` entries that do not pass, each with the reason: entry -> check -> reason."""

from __future__ import annotations

EXCLUDED: dict[str, dict[str, str]] = {}
