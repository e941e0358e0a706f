"""The request engine in JAX: one iteration over slots, verb by verb, batched over runs."""
