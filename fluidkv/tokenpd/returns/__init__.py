"""Predictors of what a token will still be worth."""
