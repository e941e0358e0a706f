"""A run of the suite: by name, with its progress; and the sections that need no engine of ours."""

import math

import numpy as np
import pytest

from fluidkv.cli import main
from fluidkv.errors import InputError
from fluidkv.serving.server import Server
from fluidkv.suite import sweeping
from fluidkv.suite.certified import NAME as CERTIFIED
from fluidkv.suite.run import BENCHMARKS, run_suite
from fluidkv.suite.serving import LIMITS, RULE, plain_loop
from fluidkv.suite.settings import LEAST


def test_names_are_checked_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="only: got 'mas'; allowed: mass"):
        run_suite(["mas"])
    assert main(["bench", "--only", "x"]) == 2
    assert "--only: got 'x'; allowed: one of " + ", ".join(BENCHMARKS) in capsys.readouterr().err


@pytest.mark.parametrize("name", [name for name in BENCHMARKS if name != "mass"])
def test_each_benchmark_measures_what_it_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "cores", lambda: 1)  # more would only start slowly
    told: list[tuple[int, int, str]] = []
    found = run_suite([name], effort=LEAST, on_progress=lambda *what: told.append(what))
    (section,) = found.sections
    assert section.name == name
    assert (found.quick, found.repeat) == (True, f"fluidkv bench --only {name}")
    assert told
    assert all(what[:2] == (0, 1) and what[2].startswith(name) for what in told)
    assert section.rates
    assert all(each.per_second or each.why for each in section.rates)
    values = [each.value for each in section.ratios if each.value is not None]
    assert values
    assert all(math.isfinite(value) for value in values)


def test_the_exponent_is_of_the_degree() -> None:
    from fluidkv.suite.certified import _exponent
    from fluidkv.suite.report import Rate

    rates = [Rate(f"d = {d}", "count", 1 / d**2.5) for d in (10, 100, 200, 800)]
    assert _exponent("count", rates).value == pytest.approx(2.5)
    assert _exponent("count", rates[:1]).value is None
    assert CERTIFIED in BENCHMARKS


def test_the_plain_loop_serves_by_the_rule_of_the_literal_engine() -> None:
    """Far more requests than fit, so that many are evicted."""
    from fluidkv.runs.requests import Requests
    from fluidkv.serving.run import serve

    outputs = np.resize((20, 21), 2500)
    run = serve(Requests(512, outputs), Server(RULE, LIMITS, backend="reference"))
    counts = (int(run.preempt.sum()), int(run.iterations.item()))
    assert plain_loop(outputs.tolist()) == counts
    assert counts[0] > 0
