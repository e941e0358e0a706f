"""SGLang's scheduler, compiled or as plain Python: a loop of its own, as its rules are not vLLM's.

Prefill passes stand beside decode passes, a pass is scheduled before the tokens of the pass before
are known, and memory is a tree of whole texts instead of blocks.
"""
