from .cases import Case as Case
from .cases import small_cases as small_cases
from .endless import Endless as Endless
from .endless import endless as endless
from .search import Best as Best
from .search import Cost as Cost
from .search import best_victims as best_victims
from .search import cost_of_rule as cost_of_rule
