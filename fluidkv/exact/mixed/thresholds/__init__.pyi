from . import pencil as pencil
from . import threshold as threshold
