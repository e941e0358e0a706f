"""How long a smooth server stays smooth, and what brings a collapsed one back."""
