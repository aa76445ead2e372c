"""Leave-one-out: distances, and what rests on them: leaving out, calibration."""
