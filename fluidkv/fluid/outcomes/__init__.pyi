from . import convergence as convergence
