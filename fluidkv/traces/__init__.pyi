from .presets import preset as preset
from .read import read_run as read_run
from .read import read_trace as read_trace
from .samples.shipped import sample_path as sample_path
from .scaling import scale as scale
from .trace import Trace as Trace
from .write import write_mooncake as write_mooncake
from .write import write_vidur as write_vidur
