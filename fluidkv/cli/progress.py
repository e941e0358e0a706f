"""What long work says of itself, on standard error.

On a terminal a line that lives while the work goes on; elsewhere a line after 10 seconds, and then
one every 30. Standard output has no part in it, wherever that leads.
"""

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from fluidkv.text import printable

FIRST_S, EVERY_S = 10.0, 30.0
_TICK_S = 0.5  # of the seconds on a terminal
_CLEAN = "\r\x1b[2K"


_LEFT_S = 2.0  # of work, after which the rate says something about the rest


@dataclass(frozen=True)
class _Count:
    """So much is done of so much, and what had been done when counting began."""

    done: int
    total: int
    what: str
    first: int
    since: float

    def __str__(self) -> str:
        return f", {self.done:,} of {self.total:,} {self.what}".rstrip()

    def left(self, now: float) -> str:
        """The time that the rest takes at the rate so far; empty where there is none to go by."""
        passed, new = now - self.since, self.done - self.first
        if new <= 0 or passed < _LEFT_S or self.done >= self.total:
            return ""
        return f", about {_rounded(passed / new * (self.total - self.done))} left"


class Progress:
    """What is being done, as `show` or `count` was told last."""

    def __init__(self, doing: str) -> None:
        self._doing = printable(doing)
        self._counted: _Count | None = None
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        terminal = sys.stderr is not None and sys.stderr.isatty()
        self._live = terminal and os.environ.get("TERM") != "dumb"
        self._thread = threading.Thread(target=self._run, daemon=True)

    def show(self, doing: str) -> None:
        self._doing, self._counted = printable(doing), None

    def count(self, done: int, total: int, what: str = "") -> None:
        """How much is done, of how much: of it follows how long the rest takes.

        Args:
            done, total: in one unit, such as runs.
            what: that unit, or what is done at the moment.
        """
        before, now = self._counted, time.monotonic()
        first, since = done, now
        if before is not None and before.total == total and before.done <= done:
            first, since = before.first, before.since
        self._counted = _Count(done, total, printable(what), first, since)

    def tell(self, lines: Iterable[str]) -> None:
        """What is known before the answer is there: lines that stay, on a terminal only."""
        if self._live:
            with self._lock:
                _write(_CLEAN + "".join(f"{printable(line)}\n" for line in lines))

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Make room for what the block writes on standard output, maybe the same terminal."""
        with self._lock:
            if self._live:
                _write(_CLEAN)
            yield

    def _run(self) -> None:
        wait = _TICK_S if self._live else FIRST_S
        while not self._ended.wait(wait):
            said = self._said(time.monotonic())
            with self._lock:
                if self._live:
                    _write(_CLEAN + f"{said} (Ctrl-C stops)"[: _columns() - 1])
                else:
                    _write(f"fluidkv: {said}\n")
                    wait = EVERY_S

    def _said(self, now: float) -> str:
        counted = self._counted
        seconds = f"{now - self._started:,.0f} s"
        if counted is None:
            return f"{self._doing}: {seconds}"
        return f"{self._doing}{counted}: {seconds}{counted.left(now)}"

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        with self.aside():
            pass


@contextmanager
def progress(doing: str) -> Iterator[Progress]:
    """Say what is being done for as long as the block takes."""
    line = Progress(doing)
    line.start()
    try:
        yield line
    finally:
        line.end()


def _rounded(seconds: float) -> str:
    """As exact as a guess is: 7 s, 40 s, 3 min, 2 h."""
    if seconds < 10:
        return f"{max(1, round(seconds))} s"
    if seconds < 90:
        return f"{round(seconds, -1):.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 5400 else f"{seconds / 3600:,.0f} h"


def _write(text: str) -> None:
    with suppress(OSError, ValueError, AttributeError):  # nobody is there to read it
        sys.stderr.write(text)
        sys.stderr.flush()


def _columns() -> int:
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80
