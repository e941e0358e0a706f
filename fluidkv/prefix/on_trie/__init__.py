"""Traces through a cache, on the static trie of all their prompts."""
