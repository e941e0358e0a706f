from . import drift as drift
from . import limit as limit
