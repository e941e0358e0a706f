"""WAIT and Nested WAIT: what load a server carries, the thresholds that do it, and runs."""
