from .many import Coordinate as Coordinate
from .many import Systems as Systems
from .rationals import Rationals as Rationals
