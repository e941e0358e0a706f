"""Which classes go to which node."""
