"""Trace formats with a request in each line or row, a file each."""
