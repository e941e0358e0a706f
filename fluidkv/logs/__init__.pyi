from .read import read_log as read_log
from .series import read_series as read_series
from .series import series_of as series_of
