"""What is new in each run of the theorem checks, all of it drawn from one seed.

A property of `proofs_checks` first runs its fixed cases, the same in every run, and then some that
no run has had before. The seed of a run is printed where it begins and below each failure;
`--fresh-seed N`, or FLUIDKV_SEED=N in the environment, draws the same again, on any number of
processes and of one check alone. With --thorough all cases are fresh, of all tests.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from inspect import signature
from random import SystemRandom

import pytest
from hypothesis import Phase, is_hypothesis_test, settings

FOLDER = "proofs_checks"
FIXED_TO_FRESH = 6
"""One fresh case for so many fixed ones."""

_SEED = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fresh-seed",
        metavar="N",
        default=os.environ.get("FLUIDKV_SEED") or None,
        help="seed of what is drawn anew in each run, to repeat one (or FLUIDKV_SEED)",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """One seed a run; a worker has that of the process that started it."""
    text = getattr(config, "workerinput", {}).get("fresh_seed") or config.getoption("--fresh-seed")
    if text is None:
        text = SystemRandom().getrandbits(32)
    if not str(text).isdecimal():
        raise pytest.UsageError(f"--fresh-seed: got {text!r}; allowed: an integer of at least 0")
    config.stash[_SEED] = int(text)
    if config.getoption("--thorough") and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(int(text))  # there all cases are fresh


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:  # of pytest-xdist: a worker is about to start
    node.workerinput["fresh_seed"] = str(node.config.stash[_SEED])


def pytest_report_header(config: pytest.Config) -> str:
    return f"fresh cases: repeat them with --fresh-seed {config.stash[_SEED]}"


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    outcome = yield
    test, config = pyfuncitem.obj, pyfuncitem.config
    theorem = pyfuncitem.path.parent.name == FOLDER
    if theorem and is_hypothesis_test(test) and not config.getoption("--thorough"):
        fixtures = {name: pyfuncitem.funcargs[name] for name in signature(test).parameters}
        seed = config.stash[_SEED]
        with _drawn_afresh(test, f"{seed} {pyfuncitem.nodeid}"):
            try:
                test(**fixtures)
            except BaseException as error:
                error.add_note(f"A fresh case; repeat it with --fresh-seed {seed}")
                raise
    return outcome


@contextmanager
def _drawn_afresh(test, seed: str) -> Generator[None]:
    """Within it, a property runs fewer cases, none of them its fixed ones.

    Hypothesis has no call for a second pass: these are the names under which its decorators
    `settings` and `seed` leave what they say.
    """
    names = ("_hypothesis_internal_use_settings", "_hypothesis_internal_use_seed")
    fixed = [getattr(test, name) for name in names]
    fewer = settings(
        fixed[0],
        max_examples=max(1, fixed[0].max_examples // FIXED_TO_FRESH),
        derandomize=False,
        database=None,
        phases=set(fixed[0].phases) - {Phase.explicit},
    )
    for name, value in zip(names, (fewer, seed), strict=True):
        setattr(test, name, value)
    try:
        yield
    finally:
        for name, value in zip(names, fixed, strict=True):
            setattr(test, name, value)
