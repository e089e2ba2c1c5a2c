"""Tables from other programs: column roles, cells and answers."""
