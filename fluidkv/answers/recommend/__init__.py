"""Which settings of an engine to take for a workload and a KV capacity, and how sure that is."""
