"""Caches of single tokens, as proofs have them: phases, nodes, cases, algorithm 1 as printed."""
