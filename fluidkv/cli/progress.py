"""What long work says of itself, on standard error.

On a terminal a line that lives while the work goes on; elsewhere a line after 10 seconds, and then
one every 30. Standard output has no part in it, wherever that leads.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fluidkv.text import printable

FIRST_S, EVERY_S = 10.0, 30.0
_TICK_S = 0.5  # of the seconds on a terminal
_CLEAN = "\r\x1b[2K"


class Progress:
    """What is being done, as `show` was told last."""

    def __init__(self, doing: str) -> None:
        self._doing = printable(doing)
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        terminal = sys.stderr is not None and sys.stderr.isatty()
        self._live = terminal and os.environ.get("TERM") != "dumb"
        self._thread = threading.Thread(target=self._run, daemon=True)

    def show(self, doing: str) -> None:
        self._doing = printable(doing)

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
            seconds = f"{time.monotonic() - self._started:,.0f} s"
            with self._lock:
                if self._live:
                    _write(_CLEAN + f"{self._doing}: {seconds} (Ctrl-C stops)"[: _columns() - 1])
                else:
                    _write(f"fluidkv: {self._doing}: {seconds}\n")
                    wait = EVERY_S

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


def _write(text: str) -> None:
    with suppress(OSError, ValueError, AttributeError):  # nobody is there to read it
        sys.stderr.write(text)
        sys.stderr.flush()


def _columns() -> int:
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80
