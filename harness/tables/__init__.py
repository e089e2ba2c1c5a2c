"""Rows of csv, jsonl and parquet files, one at a time, within caps, each with its place."""

from harness.tables.checks import CAPS, Caps, Row
from harness.tables.reader import read_rows
from harness.tables.strict_json import parse_json

__all__ = ["CAPS", "Caps", "Row", "parse_json", "read_rows"]
