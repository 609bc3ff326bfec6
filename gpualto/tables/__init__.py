"""Tables: from rows of columns to coordinates, values and labels, and from a model to rows."""
