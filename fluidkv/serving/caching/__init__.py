"""Engines with their real prefix caches: vLLM's blocks, SGLang's tree."""
