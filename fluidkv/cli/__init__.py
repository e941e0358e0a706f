"""The command line: `fluidkv study | verify | figure`."""

from collections.abc import Sequence

from fluidkv.cli.signals import end_at_once

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0; 1 if a claim differs from the record; 2 for bad input; 130 if interrupted. As a process of
    its own it ends at once on a signal: 130 on Ctrl-C (SIGINT), 143 on SIGTERM, 129 on SIGHUP.

    Args:
        argv: the words after the name of the command; None: those of this process.
    """
    if argv is None:
        end_at_once()  # before anything that takes long is imported
    from fluidkv.cli.app import run

    return run(argv)
