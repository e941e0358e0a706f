from . import compared as compared
from . import coupled as coupled
from . import fcfs as fcfs
from . import server as server
