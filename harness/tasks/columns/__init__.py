"""Tables from other programs: the roles of their columns, their cells and their answers."""
