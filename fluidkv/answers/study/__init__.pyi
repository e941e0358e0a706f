from . import simulation as simulation
from . import study as study
