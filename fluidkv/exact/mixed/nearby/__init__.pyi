from . import lyapunov as lyapunov
from . import neighbourhood as neighbourhood
from . import transition as transition
