from . import orbits as orbits
from . import pulse as pulse
from . import pulse_stability as pulse_stability
