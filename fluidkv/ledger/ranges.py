"""The cases on which a statement is tried, as an object: what they are, and which they are."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Seen:
    """What a predicate returns where the statement holds and the record shows what was found.

    Args:
        value: a number, words, or several in a tuple; `ours` of the claim makes text of them all.
    """

    value: Any


class Instance(NamedTuple):
    """One instance of a statement, as a check that looks at several yields them one by one.

    Fields:
        holds: whether the statement does there.
        shown: what the record shows of it, words or a number; None: nothing. `ours` of the claim
            makes text of them all.
        bad: the counterexample in words, where it is one; "": what is shown.
        paper: what is printed there, or was measured. `paper` of the claim makes text of them all.
    """

    holds: Any
    shown: Any = None
    bad: str = ""
    paper: str = ""


@dataclass(frozen=True)
class Range:
    """Cases, smallest first, with the words that say which.

    Args:
        words: as a reader sees them, "l0 = 1, 5, 50, l1 = 1 ... 8".
        cases: makes them, when a check runs; a case that is a tuple holds several arguments.
        whole: these are all that the statement speaks of: holding on them proves it.
        name: words for one case, where a predicate just says no; else its arguments are named.
    """

    words: str
    cases: Callable[[], Iterable[Any]]
    whole: bool = False
    name: Callable[..., str] | None = None

    def where(self, words: str, keep: Callable[..., bool]) -> "Range":
        """The cases that `keep` accepts; `words` follow those of the range."""
        return replace(
            self,
            words=f"{self.words}, {words}",
            cases=lambda: (case for case in self.cases() if keep(*_arguments(case))),
        )

    def share(self, keep: Callable[..., bool]) -> str:
        """How many of the cases `keep` accepts, "3 of 40"."""
        kept = [keep(*_arguments(case)) for case in self.cases()]
        return f"{sum(kept)} of {len(kept)}"

    def counterexample(
        self, predicate: "Callable[..., bool | str | Seen]", names: Sequence[str] = ()
    ) -> str | None:
        """The first case on which a predicate does not hold, in words; None if there is none.

        Args:
            predicate: True or `Seen` where the statement holds; False, or the counterexample in
                words, where it does not.
            names: of its arguments, for those words.

        Raises:
            ArithmeticError: there are no cases: a statement about nothing would hold.
        """
        tried = False
        for case in self.cases():
            tried = True
            found = predicate(*_arguments(case))
            if found is not True and not isinstance(found, Seen):
                return found or self._named(_arguments(case), names)
        if not tried:
            raise ArithmeticError(f"no case in the range {self.words!r}")
        return None

    def _named(self, arguments: tuple[Any, ...], names: Sequence[str]) -> str:
        if self.name:
            return self.name(*arguments)
        if len(names) < len(arguments):
            return ", ".join(map(str, arguments))
        return ", ".join(f"{name} = {each}" for name, each in zip(names, arguments, strict=False))


def _arguments(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
