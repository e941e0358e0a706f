"""Which request classes to mix and which to keep apart, by certificates."""
