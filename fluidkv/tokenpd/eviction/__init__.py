"""Policies that choose which tokens stay, and runs of them over attention weights."""
