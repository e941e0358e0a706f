"""fluidkv: the stability laboratory for KV-cache memory in LLM serving.

What most users need is here; what is special, in its room: `fluidkv.exact`, `fluidkv.fluid`,
`fluidkv.serving`, `fluidkv.wait`, ... `__init__.pyi` lists the names. They are loaded on first use,
so that importing the package, or asking the command line for help, does not wait for JAX.
"""

from fluidkv.kinds import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(__name__, __file__)
