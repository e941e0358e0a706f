"""`fluidkv study`: whether memory runs smoothly."""
