"""What a sweep is asked, read from TOML or a mapping: fixed settings, axes, their values."""
