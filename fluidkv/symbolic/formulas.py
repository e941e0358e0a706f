"""A record of expressions that a notebook shows as formulas."""

from dataclasses import dataclass, fields
from typing import Any

import sympy

from fluidkv.record import Record


@dataclass(frozen=True)
class Formulas(Record):
    """Its fields say in `metadata["latex"]` which symbol they stand for."""

    def _repr_latex_(self) -> str:
        """One line a field, for notebooks."""
        rows = [
            rf"{each.metadata['latex']} &= {_latex(getattr(self, each.name))}"
            for each in fields(self)
            if "latex" in each.metadata
        ]
        return r"$\displaystyle \begin{aligned}" + r" \\ ".join(rows) + r"\end{aligned}$"


def _latex(value: Any) -> str:
    if isinstance(value, tuple):
        return r",\; ".join(map(_latex, value))
    by_number = sympy.sympify(value).atoms(sympy.ComplexRootOf)
    return sympy.latex(value.evalf(8) if by_number else value)
