"""Which cached tokens to keep under a budget: every policy on the same attention weights."""
