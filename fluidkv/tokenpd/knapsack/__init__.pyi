from . import heap as heap
from . import literal as literal
