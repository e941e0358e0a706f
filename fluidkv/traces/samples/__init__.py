"""Measured logs that ship with the package, each in a folder with its licence and its origin."""
