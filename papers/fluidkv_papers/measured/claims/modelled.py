"""Clocks from data sheets alone, beside the steps, prefills and memories of measured servers.

Three round numbers are not the data sheets': 0.8 of the bandwidth, 0.7 of the operations, 1 ms a
step. They were chosen with all servers in sight but one, which was looked up after.
"""

from collections.abc import Iterable, Iterator

from fluidkv.ledger import Evidence, Finding, Instance, Origin, Statements
from fluidkv.serving.machines.against import Comparison, compared, pools

_CHECKED = "the rows of `fluidkv clocks`, in sight when the three numbers were chosen"
CLAIMS = Statements(
    "measured.modelled",
    "measured servers",
    origin=Origin.PREDICTION,
    evidence=Evidence.SAMPLED,
    checked=_CHECKED,
)
_TABLE = "fluidkv clocks"
PROFILES = "vidur-a100"


def _within(rows: Iterable[Comparison], part: float) -> Finding:
    """Whether the modelled duration is the measured one, to within a part."""
    bad, shown = None, []
    for row in rows:
        shown.append(f"{row.error:+.0%}")
        if abs(row.error) > part:
            bad = bad or f"{row.engine}, {row.model} on {row.gpu}: {row.error:+.0%}"
    return Finding(bad, ", ".join(shown), paper=f"within {part:.0%}")


@CLAIMS.claim("steps", _TABLE, kind="remark")
def _steps() -> Finding:
    """A step of a server on one GPU lasts as its weights and cache take at 0.8 of the bandwidth,
    and 1 ms, to within 25 %."""
    # Batches in which reading takes longer than multiplying, of servers: no profiles.
    rows = [row for row in compared() if row.what == "step" and row.inside]
    return _within((row for row in rows if row.server != PROFILES), 0.25)


@CLAIMS.claim("steps.held-out", _TABLE, kind="remark")
def _held_out() -> Finding:
    """A step of a server that was not looked at before, one request of Llama-3.1-8B on an RTX PRO
    6000, lasts as long as modelled to within 5 %.

    Checked: 87 tokens in a second of the log of LLMServingSim's example"""
    return _within((row for row in compared() if row.held_out), 0.05)


@CLAIMS.fails("steps.profiles", _TABLE, kind="remark")
def _profiles() -> Finding:
    """The line through Vidur's profiled decode batches is the modelled one to within 25 %, at 0 and
    at 100,000 tokens.

    Note: Attention in Vidur's profiles takes 2.6 times its bytes."""
    rows = [row for row in compared() if row.server == PROFILES and row.what == "step"]
    return _within(rows, 0.25)


@CLAIMS.fails("steps.large-batch", _TABLE, kind="remark")
def _large() -> Finding:
    """A batch that takes longer to multiply than to read, 256 requests of Qwen2-7B, lasts as long
    as modelled to within 25 %.

    Note: The clock has no term for the longer of the two.
    Holds: steps"""
    return _within((row for row in compared() if not row.inside), 0.25)


@CLAIMS.fails("prefill", _TABLE, kind="remark")
def _prefill() -> Finding:
    """A token of prefill lasts as its operations take at 0.7 of the peak, to within 25 %.

    Note: vLLM on an RTX 4090 reaches nearly all of the peak, SGLang's prefill of one prompt less.
    """
    return _within((row for row in compared() if row.what == "prefill"), 0.25)


@CLAIMS.claim("pool", _TABLE, ours="{list}", kind="remark")
def _pool() -> Iterator[Instance]:
    """A GPU has the tokens of cache that its memory leaves beside the weights and 1.5 GiB, to
    within 15 %.

    Checked: three servers whose share of the memory is known
    Paper: within 15%"""
    for row in pools():
        yield Instance(abs(row.error) <= 0.15, f"{row.measured:,}: {row.error:+.1%}")
