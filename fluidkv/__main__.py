"""`python -m fluidkv` is the command line."""

import sys

from fluidkv.cli import main

if __name__ == "__main__":  # a process that the ledger starts imports this, too
    sys.exit(main())
