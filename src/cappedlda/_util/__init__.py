"""Utilities that know nothing of discriminants: files, markup, tables, progress."""
