from . import mixing as mixing
