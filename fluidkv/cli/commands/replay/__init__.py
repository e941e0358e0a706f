"""`fluidkv replay`: half of a measured run from the other."""
