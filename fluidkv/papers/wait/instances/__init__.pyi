from . import coupled as coupled
from . import fcfs as fcfs
