from .many import Systems as Systems
