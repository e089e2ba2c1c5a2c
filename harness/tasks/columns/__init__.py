"""Foreign tables: roles of columns, cells and answers."""
