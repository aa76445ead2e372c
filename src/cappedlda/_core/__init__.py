"""Compiled kernels: blocks of rows in, sums out. They trust their caller."""
