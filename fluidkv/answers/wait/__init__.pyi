from . import ahead as ahead
from . import nested as nested
from . import runs as runs
from . import study as study
