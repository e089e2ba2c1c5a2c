"""The Python API: what `harness` offers by name, one module per subject."""
