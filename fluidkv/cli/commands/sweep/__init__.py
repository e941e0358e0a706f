"""`fluidkv sweep`: many points of one analysis, into a Zarr store."""
