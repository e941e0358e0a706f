"""Which checks a run leaves out, how many cases a property has, and which of them are new.

A property first runs its fixed cases, the same in every run. Those of `proofs_checks` then run some
that no run has had before. All that is new is drawn from one seed a run, printed where the run
begins and with each failure; `--fresh-seed N`, or FLUIDKV_SEED=N in the environment, draws the same
again, on any number of processes and of one check alone. With `--thorough` every case is new, of
all tests, and no check is left out.

What takes seconds is left out of the daily run, most of it where something quicker looks at the
same rule: a check marked `thorough`, all cases but the first n of one marked `daily(n)`, and single
cases that `slow_cases.txt` lists.
"""

import os
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from random import SystemRandom

import pytest
from hypothesis import HealthCheck, Phase, is_hypothesis_test, settings

FOLDER = "proofs_checks"
SLOW_CASES = Path(__file__).with_name("slow_cases.txt")
FIXED_TO_FRESH = 6
"""One fresh case for so many fixed ones."""

# Limits on time are on the machine, not on the code; a derandomized run ends the same everywhere.
# Both profiles say whether they are: where CI is set in the environment, Hypothesis is by default.
# A failure is repeated by its seed or its blob, not by what a disk remembers.
_UNTIMED = settings(
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("ci", _UNTIMED, derandomize=True, max_examples=60)
settings.register_profile("thorough", _UNTIMED, derandomize=False, max_examples=1000)

NO_CASES = pytest.StashKey[list[str]]()
"""What `SLOW_CASES` lists and is none."""
_SEED = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run the deeper checks too (minutes)")
    parser.addoption(
        "--fresh-seed",
        metavar="N",
        default=os.environ.get("FLUIDKV_SEED") or None,
        help="seed of the cases that each run draws anew, to repeat them (or FLUIDKV_SEED)",
    )


@pytest.hookimpl(tryfirst=True)  # before Hypothesis reads its own seed
def pytest_configure(config: pytest.Config) -> None:
    """One seed a run; a worker has that of the process that started it."""
    thorough = config.getoption("--thorough")
    settings.load_profile("thorough" if thorough else "ci")
    seed = getattr(config, "workerinput", {}).get("fresh_seed") or config.getoption("--fresh-seed")
    seed = str(SystemRandom().getrandbits(32)) if seed is None else seed
    if not (seed.isascii() and seed.isdecimal()):
        raise pytest.UsageError(f"--fresh-seed: got {seed!r}; allowed: an integer of at least 0")
    config.stash[_SEED] = int(seed)
    if thorough and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = seed


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    """Of pytest-xdist, before a worker starts."""
    node.workerinput["fresh_seed"] = str(node.config.stash[_SEED])


def pytest_report_header(config: pytest.Config) -> str:
    fresh = f"fresh cases: --fresh-seed {config.stash[_SEED]} repeats them"
    left_out = "deeper checks are left out: --thorough runs them"
    return fresh if config.getoption("--thorough") else f"{fresh}; {left_out}"


@pytest.hookimpl(trylast=True)  # what was asked by name or words is chosen first
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--thorough"):
        return
    listed = set(SLOW_CASES.read_text(encoding="utf-8").splitlines())
    if not (config.option.keyword or config.option.markexpr):  # which leave cases out
        config.stash[NO_CASES] = _no_cases(listed, items)
    daily, deeper = [], []
    cases: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        marker = item.get_closest_marker("daily")
        beyond = marker is not None and cases[test] >= marker.args[0]
        cases[test] += 1
        left = beyond or "thorough" in item.keywords or item.nodeid in listed
        (deeper if left else daily).append(item)
    config.hook.pytest_deselected(items=deeper)
    items[:] = daily


def _no_cases(listed: set[str], items: list[pytest.Item]) -> list[str]:
    """Those that are no case of their test, where it was collected whole, or whose test is gone."""
    collected = {item.nodeid for item in items}
    cases = Counter(nodeid.partition("[")[0] for nodeid in collected)
    modules = {
        item.nodeid.partition("::")[0]: item.module
        for item in items
        if isinstance(item, pytest.Function)
    }

    def gone(test: str) -> bool:
        file, _, name = test.partition("::")
        return file in modules and not hasattr(modules[file], name.partition("::")[0])

    tests = {each: each.partition("[")[0] for each in listed - collected}
    return sorted(each for each, test in tests.items() if cases[test] > 1 or gone(test))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    config, test = pyfuncitem.config, pyfuncitem.obj
    seed = config.stash[_SEED]
    try:
        outcome = yield
        theorem = pyfuncitem.path.parent.name == FOLDER
        if theorem and is_hypothesis_test(test) and not config.getoption("--thorough"):
            fixtures = {name: pyfuncitem.funcargs[name] for name in signature(test).parameters}
            with _drawn_afresh(test, f"{seed} {pyfuncitem.nodeid}"):
                test(**fixtures)
    except Exception as error:
        if is_hypothesis_test(test):
            error.add_note(f"fresh cases of this run: --fresh-seed {seed}")
        raise
    return outcome


@contextmanager
def _drawn_afresh(test, seed: str) -> Generator[None]:
    """Within it, a property runs fewer cases, and none of its fixed ones.

    Hypothesis has no call for a second pass: under these names its decorators `settings` and `seed`
    leave what they say.
    """
    names = ("_hypothesis_internal_use_settings", "_hypothesis_internal_use_seed")
    fixed = [getattr(test, name) for name in names]
    fewer = settings(
        fixed[0],
        max_examples=max(1, fixed[0].max_examples // FIXED_TO_FRESH),
        derandomize=False,
        phases=set(fixed[0].phases) - {Phase.explicit},
    )
    for name, value in zip(names, (fewer, seed), strict=True):
        setattr(test, name, value)
    try:
        yield
    finally:
        for name, value in zip(names, fixed, strict=True):
            setattr(test, name, value)
