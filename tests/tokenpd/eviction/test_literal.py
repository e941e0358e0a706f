"""The compiled run of a policy is the literal one, token by token."""

from itertools import product

import numpy as np
import pytest

from fluidkv.runs.precision import random_key
from fluidkv.tokenpd import evict
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.eviction.literal import evict_literally
from fluidkv.tokenpd.eviction.run import EvictionRun
from tests.tokenpd.eviction.cases import ALWAYS, Case, compiled_together, drawn_attention, groups

BUDGETS = (1, 3, 8)
GROUPS = groups()


def agree(group: list[Case], seed: int, delay: int, comes_back: bool) -> int:
    """How many settings were compared, of one attention: policies by budgets."""
    attention, key = drawn_attention(seed), random_key(seed)
    settings = list(product(zip(group, compiled_together(group), strict=True), BUDGETS))
    found = evict(
        attention,
        [budget for _, budget in settings],
        [policy for (_, policy), _ in settings],
        delay=delay,
        comes_back=comes_back,
        key=key,
        record=True,
    )
    for at, ((case, _), budget) in enumerate(settings):
        one = EvictionRun(**{name: values[at] for name, values in vars(found).items()})
        meant = evict_literally(
            attention,
            budget,
            case.policy,
            delay=delay,
            comes_back=comes_back,
            key=key,
            predict=case.predict,
        )
        same(one, meant)
        sensible(attention, one)
    return len(settings)


def same(found: EvictionRun, meant: EvictionRun) -> None:
    """Kept sets and counts to the bit; masses too, as sums of dyadic weights are exact."""
    counts = ("rows", "used", "wanted", "kept", "recomputed", "imbalance", "masks")
    for name in (*counts, "mass", "optimum"):
        np.testing.assert_array_equal(getattr(found, name), getattr(meant, name), name)
    # Two exponential functions, and squares of rounded shares that are added in another order.
    np.testing.assert_allclose(found.price, meant.price, rtol=1e-14)
    np.testing.assert_allclose(found.error, meant.error, rtol=1e-13, atol=1e-15)


def sensible(attention: Attention, run: EvictionRun) -> None:
    """What holds of every run: kept keys were written, by streams that go on."""
    assert run.masks is not None
    rounds = np.arange(attention.rounds)[:, None]
    age = rounds - attention.start
    goes_on = (age >= 0) & (age < attention.length - attention.prompt)
    written = np.arange(run.masks.shape[2]) < (attention.prompt + age)[:, :, None]
    assert not (run.masks & ~(written & goes_on[:, :, None])).any()


@pytest.mark.daily(2)
@pytest.mark.parametrize("name", ALWAYS)
def test_compiled_equals_literal(name: str) -> None:
    assert sum(agree(GROUPS[name], seed, 0, bool(seed % 2)) for seed in range(2)) >= 12


@pytest.mark.thorough
def test_compiled_equals_literal_when_rows_are_seen_late() -> None:
    assert agree(GROUPS["last, priced"], 7, 2, comes_back=False) >= 12


@pytest.mark.thorough
@pytest.mark.parametrize("delay", [0, 1, 3])
@pytest.mark.parametrize("name", GROUPS)
def test_compiled_equals_literal_on_many(name: str, delay: int) -> None:
    """With all groups and delays, more than 10,000 settings."""
    least = 230
    done = seed = 0
    while done < least:
        done += agree(GROUPS[name], 1000 + seed, delay, bool(seed % 2))
        seed += 1
