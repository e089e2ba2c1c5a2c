"""Re-run a finished run's judges, and test for drift beyond their usual noise."""

from __future__ import annotations

from typing import Literal, TypeAlias

Period: TypeAlias = Literal["day", "week", "month"]
Target: TypeAlias = Literal["github", "gitlab", "cron", "systemd"]
FAIL_ON = "changed,not comparable"
"""Conditions that fail a round by default. A worse judge has changed too."""
