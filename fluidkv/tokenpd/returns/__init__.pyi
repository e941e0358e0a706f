from . import mlp as mlp
