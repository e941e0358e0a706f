"""The command line: `fluidkv study | verify | figure`."""

import os
import re
from collections.abc import Sequence

from fluidkv.cli.signals import end_at_once

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0; 1 if an outcome differs from its record or no setting is to be taken; 2 for bad input; 70 for
    a bug, after its traceback; 130 if interrupted. As a process of its own it ends at once on a
    signal: 130 on Ctrl-C (SIGINT), 143 on SIGTERM, 129 on SIGHUP.

    Args:
        argv: the words after the name of the command; None: those of this process.
    """
    if argv is None:
        end_at_once()  # before anything that takes long is imported
    for name in ("COLUMNS", "LINES", "TERMINAL_WIDTH"):
        # Some shells export a width of 0, in which nothing would be shown; other words than numbers
        # are tracebacks of what reads them, in part on import.
        if not re.fullmatch("0*[1-9][0-9]{0,3}", os.environ.get(name, "80")):
            del os.environ[name]
    from fluidkv.cli.app import run

    return run(argv)
