"""Utilities that know nothing of discriminants: files, tables, progress."""
