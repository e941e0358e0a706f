"""Rounds of values that are drawn on the device, for runs too long to store."""
