"""Re-validation: ask the judges of a finished run again, and tell drift from their own noise."""

from __future__ import annotations

from typing import Literal, TypeAlias

Period: TypeAlias = Literal["day", "week", "month"]
Target: TypeAlias = Literal["github", "gitlab", "cron", "systemd"]
