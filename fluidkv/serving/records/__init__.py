"""Record files of real schedulers: read, replayed, compared."""
