"""Leave-one-out distances, and what uses them: leaving out, calibration, labels and cells."""
