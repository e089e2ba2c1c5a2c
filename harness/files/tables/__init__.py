"""Reading csv, jsonl and parquet tables row by row, with line numbers and size limits."""

from harness.files.tables.checks import LIMITS, Limits, Row
from harness.files.tables.reader import read_rows
from harness.files.tables.strict_json import parse_json

__all__ = ["LIMITS", "Limits", "Row", "parse_json", "read_rows"]
