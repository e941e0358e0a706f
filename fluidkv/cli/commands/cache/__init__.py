"""`fluidkv cache`: hit rates of prefix caches by size."""
