"""Roots of the characteristic polynomial: exact counts, winding numbers, ball enclosures."""
