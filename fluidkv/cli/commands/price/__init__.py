"""`fluidkv price`: which tokens to keep."""
