"""Audit of a task: problems in items and ratings, their effects, and commands that address them."""

from harness.curation.audit.audit import audit_task, suspected_raters
from harness.curation.audit.audit_report import audit_text
from harness.curation.audit.finding import Audit

__all__ = ["Audit", "audit_task", "audit_text", "suspected_raters"]
