"""Parts of `fluidkv.wait.chain`: random words, tables to draw from, and one iteration of counts."""
