"""Sections 3 and 4: the rule, the price, and what is guaranteed under which reading."""
