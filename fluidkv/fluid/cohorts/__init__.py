"""Requests of several lengths, by age: starts."""
