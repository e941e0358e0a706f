"""How long a cache takes to come back: fitted to a profile, or from the numbers of a machine."""
