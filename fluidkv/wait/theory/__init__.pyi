from . import boundary_queue as boundary_queue
from . import bounds as bounds
from . import design as design
