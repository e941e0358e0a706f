"""Attention weights in files: NumPy and safetensors, read and written."""
