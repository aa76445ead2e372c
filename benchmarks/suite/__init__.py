"""The asv suite: speed as ratios to a bare X.T @ X, measured interleaved in one process."""
