"""The work of a command: plan, ask, run; gates and the doctor."""
