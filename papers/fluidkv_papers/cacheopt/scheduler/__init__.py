"""CacheOPT's own scheduler, whole, to be read beside section 3 of the paper."""
