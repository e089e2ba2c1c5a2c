"""The work of a command: plan, run, gates and the doctor."""
