"""`fluidkv route`: which worker gets a request."""
