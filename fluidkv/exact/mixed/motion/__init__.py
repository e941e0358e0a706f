"""How the roots of F move with the input length: limits, drift, branches."""
