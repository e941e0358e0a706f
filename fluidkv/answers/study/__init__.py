"""The whole answer about one system: equilibrium, certified stability, perturbed starts, a log."""
