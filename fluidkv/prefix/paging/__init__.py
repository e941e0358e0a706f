"""Caches of single tokens, written out literally: small enough that every state is looked at."""
