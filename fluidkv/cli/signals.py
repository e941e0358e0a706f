"""Ctrl-C, and what else ends the process: one line, nothing half-written, at once.

A handler of Python's runs between two bytecodes of the main thread, which may be inside compiled
code for minutes; and the KeyboardInterrupt that it usually raises is lost where it falls into a
callback of compiled code. So nothing is raised here: the handler ends the process. Where the main
thread does not get to it within a second, a thread that reads the signal's number from a pipe does.
(Code that keeps Python's global lock for longer holds up both.)

Nothing heavy is imported, so that this is in place before what takes long.
"""

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from types import FrameType

_GRACE_S = 1.0
_SIGNALS = {  # name -> exit code, as a shell would have it, and the word for it
    "SIGINT": (130, "interrupted"),
    "SIGTERM": (143, "terminated"),
    "SIGHUP": (129, "hung up"),
}
_KNOWN = {getattr(signal, name): end for name, end in _SIGNALS.items() if hasattr(signal, name)}

INTERRUPTED, _ = _KNOWN[signal.SIGINT]

_said = False


def end_at_once() -> None:
    """From now on SIGINT, SIGTERM and SIGHUP end the process, with codes 130, 143 and 129.

    One that the caller of the process has it ignore (`nohup`) stays ignored. To be called once, in
    the main thread.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in _KNOWN:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)
    threading.Thread(target=_watch, args=(reader,), daemon=True).start()


def say(number: int = signal.SIGINT) -> None:
    """The one line, once; past whatever stands in the line of a terminal, with its cursor."""
    global _said
    if _said:
        return
    _said = True
    clean = "\r\x1b[2K\x1b[?25h" if os.isatty(2) else ""
    line = f"{clean}fluidkv: {_KNOWN[number][1]}; nothing was left half-written\n"
    with suppress(OSError):
        os.write(2, line.encode())


def _handle(number: int, _: FrameType | None) -> None:
    for stream in (sys.stdout, sys.stderr):
        # closed; or the signal fell into a write; or there is no such stream
        with suppress(OSError, ValueError, RuntimeError, AttributeError):
            stream.flush()
    _end(number)


def _watch(reader: int) -> None:
    while True:
        number = os.read(reader, 1)[0]
        if number in _KNOWN:
            time.sleep(_GRACE_S)
            _end(number)


def _end(number: int) -> None:
    try:
        if "multiprocessing.process" in sys.modules:
            from multiprocessing import active_children

            for child in active_children():
                child.kill()
        if "fluidkv.files" in sys.modules:
            from fluidkv.files import sweep

            sweep()
        say(number)
    finally:
        os._exit(_KNOWN[number][0])
