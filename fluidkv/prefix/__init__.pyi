from .pieces import Content as Content
from .pieces import Piece as Piece
from .pieces import content as content
