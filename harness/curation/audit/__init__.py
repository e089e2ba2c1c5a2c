"""Audit of a task: problems of its items and ratings, their effects, and their repairs."""

from harness.curation.audit.audit import audit_task
from harness.curation.audit.audit_report import audit_text
from harness.curation.audit.finding import Audit
from harness.curation.audit.fixes import write_repaired

__all__ = ["Audit", "audit_task", "audit_text", "write_repaired"]
