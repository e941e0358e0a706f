from . import equilibria as equilibria
from . import return_map as return_map
