"""`python -m fluidkv` is the command line."""

import sys

from fluidkv.cli import main

sys.exit(main())
