"""The iteration clock of a logged server, from the log's own ticks."""
