"""Rows of csv, jsonl and parquet files, one at a time, within limits, each with its line."""

from harness.files.tables.checks import LIMITS, Limits, Row
from harness.files.tables.reader import read_rows
from harness.files.tables.strict_json import parse_json

__all__ = ["LIMITS", "Limits", "Row", "parse_json", "read_rows"]
