"""What a claim is, how it is checked, and how its outcome is recorded. No paper.

What a module of claims declares them with is public here: `from fluidkv.ledger import Finding`.
"""

from fluidkv.ledger.claim import Claim as Claim
from fluidkv.ledger.claim import Finding as Finding
from fluidkv.ledger.claim import Kind as Kind
from fluidkv.ledger.claim import Origin as Origin
from fluidkv.ledger.claim import Outcome as Outcome
from fluidkv.ledger.lazy import flint as flint
from fluidkv.ledger.lazy import np as np
from fluidkv.ledger.lazy import sympy as sympy
from fluidkv.ledger.lazy import xr as xr
from fluidkv.ledger.outcomes import ball_rounds_to as ball_rounds_to
from fluidkv.ledger.outcomes import conjugate_modulus_squared as conjugate_modulus_squared
from fluidkv.ledger.outcomes import decimal as decimal
from fluidkv.ledger.outcomes import equals as equals
from fluidkv.ledger.outcomes import root_rounds_to as root_rounds_to
from fluidkv.ledger.outcomes import rounds_to as rounds_to
from fluidkv.ledger.outcomes import span as span
from fluidkv.ledger.ranges import Instance as Instance
from fluidkv.ledger.ranges import Range as Range
from fluidkv.ledger.ranges import Seen as Seen
from fluidkv.ledger.statements import Statements as Statements
from fluidkv.ledger.table import Column as Column
from fluidkv.ledger.table import Row as Row
from fluidkv.ledger.table import Table as Table
from fluidkv.verdict import Evidence as Evidence
from fluidkv.verdict import Verdict as Verdict
