"""Types for JSON from servers, other tools, schemas and unchecked files."""

from __future__ import annotations

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]  # each reader of a member checks its type
