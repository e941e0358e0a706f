"""`fluidkv bench`: how fast the engines are here."""
