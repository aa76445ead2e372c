"""The robust initial estimate: centres, scale and the rows to begin with."""
