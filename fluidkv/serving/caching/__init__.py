"""Engines with the prefix caches that they really have: vLLM's blocks, SGLang's tree."""
