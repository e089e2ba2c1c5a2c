"""Logic of the commands: plans, runs, gates and the doctor."""
