"""Length predictors: what an engine is told of the outputs before it has made them."""
