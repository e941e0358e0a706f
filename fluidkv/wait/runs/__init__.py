"""Prompts one by one: tables of arrivals, the policies, what happened to each prompt."""
