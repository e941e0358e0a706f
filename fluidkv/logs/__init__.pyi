from .log import LoggedRequests as LoggedRequests
from .log import LoggedTicks as LoggedTicks
from .log import Missing as Missing
from .log import Retraction as Retraction
from .log import ServerLog as ServerLog
from .read import read_log as read_log
from .settings import LoggedSettings as LoggedSettings
from .timed import TimedRun as TimedRun
