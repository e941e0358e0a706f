"""What the price rule is compared with, and what can be proved about it."""
