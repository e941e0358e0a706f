"""Many systems as arrays: exact, padded where the numbers of classes differ, with coordinates."""
