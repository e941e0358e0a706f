from .running import open_sweep as open_sweep
from .running import sweep as sweep
