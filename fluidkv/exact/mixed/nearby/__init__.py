"""Around the equilibrium: the linear map, its Lyapunov function, where nothing is evicted."""
