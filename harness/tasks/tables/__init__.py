"""Rows of csv, jsonl and parquet files, one at a time, within caps, each with its place."""

from harness.tasks.tables.limits import CAPS, Caps, Row
from harness.tasks.tables.reader import read_rows
from harness.tasks.tables.strict_json import parse_json

__all__ = ["CAPS", "Caps", "Row", "parse_json", "read_rows"]
