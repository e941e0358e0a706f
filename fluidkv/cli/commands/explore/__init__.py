"""`fluidkv wait`: whom to let in, and when."""
