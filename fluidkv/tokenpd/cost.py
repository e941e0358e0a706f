"""What a cached token costs in bytes: the same for every room, so it lives with the models."""

from fluidkv.serving.machines.kv_bytes import token_bytes as token_bytes
