"""Pickles of earlier versions look for the gate of an estimator here."""

from cappedlda._cutoffs.gate import Gate

__all__ = ["Gate"]
