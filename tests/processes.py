"""Python and our commands as processes of their own, as users start them."""

import subprocess
import sys
from typing import Any

# Commands say how far they are when they run for long, which depends on the machine's other work.
SILENT = "from fluidkv.cli import progress; progress.FIRST_S = 1e6\n"
_COMMAND = "import sys; from fluidkv.cli import main; sys.argv[0] = 'fluidkv'; sys.exit(main())"
_OPTIONS: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


def python(code: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """How code ends and what it prints; options as `subprocess.run` takes them."""
    return subprocess.run([sys.executable, "-c", code, *arguments], **(_OPTIONS | options))


def fluidkv(*argv: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The same of a command."""
    return subprocess.run(command_line(*argv), **(_OPTIONS | options))


def command_line(*argv: str) -> list[str]:
    """The words that start `fluidkv`, which says nothing of its progress."""
    return [sys.executable, "-c", SILENT + _COMMAND, *argv]
