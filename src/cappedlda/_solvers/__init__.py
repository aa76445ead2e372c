"""Solvers: from records to the next projection, by small matrices. No rows are seen here."""
