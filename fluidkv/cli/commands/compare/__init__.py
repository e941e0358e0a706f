"""`fluidkv compare`: engines side by side."""
