"""`fluidkv recommend`: what to set."""
