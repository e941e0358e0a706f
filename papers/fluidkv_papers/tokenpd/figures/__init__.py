"""Figures of the paper Token-PD, in simulation: one idea a module."""
