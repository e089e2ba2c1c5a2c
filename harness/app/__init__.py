"""Logic behind the commands: plans, runs, gates and the doctor."""
