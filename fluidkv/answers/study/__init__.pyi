from . import result as result
from . import simulation as simulation
from . import study as study
