from .arrivals import bursts as bursts
from .arrivals import poisson as poisson
from .arrivals import replayed as replayed
from .arrivals import saturated as saturated
from .measuring import metrics as metrics
from .precision import random_key as random_key
from .requests import Requests as Requests
from .values import crossed as crossed
