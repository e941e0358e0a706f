"""The folder that a sweep fills: a Zarr store, chunk by chunk, safe against being cut off."""
