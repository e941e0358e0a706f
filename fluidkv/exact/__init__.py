"""Rational and ball arithmetic: the reference dynamics and the certificates. Never imports JAX."""
