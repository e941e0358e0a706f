"""What each paper says: instances, claims, figures and printed numbers, one folder a paper.

A plug-in of fluidkv: `fluidkv verify`, `fluidkv figure` and `fluidkv table` find by entry points
what `ledger`, `figures` and `tables` list.
"""

__version__ = "0.1.0"
