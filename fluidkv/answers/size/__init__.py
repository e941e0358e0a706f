"""How much memory, how high a rate or how many replicas meet what is asked of a server.

The same requests through servers of many sizes: first a grid, then what lies between the last size
that meets every SLO and the first that does not. What is found is said of the sizes that were
tried, with those that break the order named.
"""
