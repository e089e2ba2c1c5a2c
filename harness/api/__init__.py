"""The Python API: the public names of `harness`, one module per subject."""
