from .slo import MeanTimes as MeanTimes
from .slo import assigned as assigned
from .slo import attainment as attainment
from .slo import mean_times as mean_times
from .slo import normalised_latency as normalised_latency
from .slo import tails as tails
