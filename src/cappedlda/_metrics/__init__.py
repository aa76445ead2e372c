"""Metrics: positive definite forms within the classes, from moments. No rows are seen here."""
