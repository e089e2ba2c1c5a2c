"""Periods and schedulers of a schedule."""

from __future__ import annotations

from typing import Literal, TypeAlias

Period: TypeAlias = Literal["day", "week", "month"]
Target: TypeAlias = Literal["github", "gitlab", "cron", "systemd"]
