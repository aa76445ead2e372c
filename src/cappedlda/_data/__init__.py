"""Data: who holds the rows, one pass over them, and the record that comes back."""
