"""Requests of several lengths, by age: starts, returns to the equilibrium, attractors."""
