"""Rules of which there may be more: a name, a sentence of help, and a function of numbers."""

import sys
from collections.abc import Callable
from enum import Enum
from typing import Any, Self

from fluidkv.errors import InputError

OWN = -1
"""The number of a rule that no kernel knows, but by the address of its function."""


class OpenRule(Enum):
    """A kind of rule. A member is a name and a sentence of help; `function` says what it means.

    Of a member here it is the function of its name, in small letters, in the file of its kind.
    `add` makes members of functions of a user's own.
    """

    @property
    def own(self) -> Callable[[Any], Any] | None:
        """The function of a rule that was added; None for those that are here."""
        return _OWN.get((type(self).__name__, self.name))

    @property
    def function(self) -> Callable[[Any], Any]:
        """What it means: of the numbers that its kind of rule names."""
        return self.own or getattr(sys.modules[type(self).__module__], self.name.lower())

    @property
    def number(self) -> int:
        """What a kernel calls it."""
        return OWN if self.own else list(type(self)).index(self)

    def looks_at(self, name: str) -> bool:
        """Whether its function reads this number; one that was added may read all."""
        return self.own is not None or name in self.function.__code__.co_names

    @classmethod
    def add(cls, function: Callable[[Any], Any], text: str) -> Self:
        """A rule of a user's own in this process, under the name of its function.

        Whatever takes a rule of this kind takes it, by its value or by its name. It is compiled
        where Numba can do that; else the engine that it belongs to runs as plain Python.

        Args:
            function: of numbers, which the kind of rule names.
            text: a sentence of help.

        Raises:
            InputError: what is no function; a name or a text that another rule has.

        Examples:
            >>> from fluidkv.serving import Victim
            >>> def nearly_done_stays(request):
            ...     return 1 - request.outputs / request.max_output
            ...
            >>> mine = Victim.add(nearly_done_stays, "largest share of its answer still to come")
            >>> requests, limits = fk.Requests([4, 4], [8, 8]), fk.Limits(16)
            >>> run = fk.serve(requests, fk.Server("vllm:victim=nearly-done-stays", limits))
            >>> mine.name, run.evictions.values.tolist()
            ('NEARLY_DONE_STAYS', [[0, 1]])
            >>> mine.remove()
        """
        if not callable(function):
            raise InputError("function", function, "a function")
        name = getattr(function, "__name__", "").upper()
        if not name.isidentifier() or name in cls.__members__:
            raise InputError("function", name.lower(), "one that is named, as no rule is yet")
        if not text or text in cls._value2member_map_:
            raise InputError("text", text, "a sentence that no rule has yet")
        rule = object.__new__(cls)
        rule._name_, rule._value_ = name, text
        cls._member_names_.append(name)
        cls._member_map_[name] = cls._value2member_map_[text] = rule
        _OWN[cls.__name__, name] = function
        return rule

    def remove(self) -> None:
        """A rule that was added is no longer among them.

        Raises:
            InputError: one that is always there.
        """
        if _OWN.pop((type(self).__name__, self.name), None) is None:
            raise InputError("rule", self.name, "one that was added")
        cls = type(self)
        cls._member_names_.remove(self.name)
        del cls._member_map_[self.name], cls._value2member_map_[self.value]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Another process has it by its name; one that was added is added there, too."""
        return _rule, (type(self), self.name, self.value, self.own)


_OWN: dict[tuple[str, str], Callable[[Any], Any]] = {}


def _rule(cls: type[OpenRule], name: str, text: str, own: Callable[[Any], Any] | None) -> OpenRule:
    if own is not None and name not in cls.__members__:
        return cls.add(own, text)
    return cls[name]
