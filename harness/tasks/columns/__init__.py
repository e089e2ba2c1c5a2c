"""Tables of another form than a task folder's: roles of columns, cells and answers."""
