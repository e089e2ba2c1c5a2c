"""The alternative annotator test (Calderon et al. 2025)."""
