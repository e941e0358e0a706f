from .arrivals import bursts as bursts
from .arrivals import poisson as poisson
from .arrivals import replayed as replayed
from .arrivals import saturated as saturated
from .dataset import RunStatus as RunStatus
from .measuring import Span as Span
from .measuring import metrics as metrics
from .requests import Requests as Requests
