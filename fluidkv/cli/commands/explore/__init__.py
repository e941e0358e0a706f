"""`fluidkv explore`: a page with sliders."""
