from . import polynomial as polynomial
from . import spectrum as spectrum
