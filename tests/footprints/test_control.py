"""Margins of controllers: against roots of the closed loop, mean flows, and whole requests."""

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import fluidkv as fk
from fluidkv.footprints.control import ControlledFlow, control_margins
from fluidkv.footprints.second_moments import mean_weights

MIX = fk.footprint_of(fk.Workload.from_lengths([(200, 10), (300, 30), (400, 17)]))

lengths = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 25)), min_size=1, max_size=4)


def closed_loop(response: np.ndarray, gain: float) -> float:
    """The largest growth a reading of 1 - y + gain g(y)."""
    loop = np.concatenate([[1.0, -1.0], np.zeros(len(response) - 1)])
    loop[1:] += gain * response
    return float(np.abs(np.roots(loop)).max())


@example([(3, 8)], 5, 0)  # its loop is real at a quarter of a turn, to the last bit
@given(lengths, st.integers(1, 12), st.integers(0, 9))
def test_the_largest_gain_is_where_the_loop_s_first_root_leaves_the_circle(pairs, every, delay):
    mix = fk.footprint_of(fk.Workload.from_lengths(pairs))
    found = fk.control_margins(mix, fk.Controller("rate", every, delay))
    assert found.response.sum() == pytest.approx(1)
    assert closed_loop(found.response, 0.99 * found.largest_gain) < 1
    assert closed_loop(found.response, 1.01 * found.largest_gain) > 1
    assert found.gain_margin(found.largest_gain / 3) == pytest.approx(3)


@pytest.mark.thorough
@given(lengths, st.integers(0, 9), st.floats(0.05, 0.95))
def test_a_loop_bears_what_its_delay_margin_says_and_no_more(pairs, delay, part):
    mix = fk.footprint_of(fk.Workload.from_lengths(pairs))
    found = fk.control_margins(mix, fk.Controller("rate", 1, delay))
    gain = part * found.largest_gain
    bears = found.delay_margin(gain)
    assume(abs(bears - round(bears)) > 1e-3)
    for more, settles in ((int(bears), True), (int(bears) + 1, False)):
        later = fk.control_margins(mix, fk.Controller("rate", 1, delay + more))
        assert (gain < later.largest_gain) is settles
    assert found.delay_margin(2 * found.largest_gain) == 0


@pytest.mark.parametrize("sets", ["rate", "running"])
@pytest.mark.parametrize(("every", "delay"), [(1, 7), (10, 7), (50, 0)])
def test_a_mean_flow_settles_below_the_largest_gain_and_cycles_above(sets, every, delay):
    controller = fk.Controller(sets, every, delay)
    found = fk.control_margins(MIX, controller)
    weights, server = mean_weights(MIX), fk.FullServer(MIX, 120_000)
    balance = 0.8 * float(server.capacity / weights.lifetime_memory)
    if sets == "running":
        balance *= float(weights.mean_lifetime)

    def flow(gain: float) -> ControlledFlow:
        law = fk.integral_control(gain * found.largest_gain, 0.8)
        return fk.controlled(
            server, controller, law, readings=4000 // every + 200, setting=1.01 * balance
        )

    assert np.ptp(flow(0.9).usage[-20:]) < 1e-4
    above = flow(1.03)
    assert np.ptp(above.usage[-100:]) > 0.02
    # it is no linear loop any more: a cap below what runs admits nobody
    assert above.period == pytest.approx(found.period, rel=0.3)


def served(server: fk.FullServer, controller: fk.Controller, law, *, readings: int) -> np.ndarray:
    """Usage as read, of whole requests that are drawn: a Poisson number, or up to a cap."""
    rng = np.random.default_rng(7)
    kinds = [np.asarray(growth.start, float) for _, growth in server.footprint.growths]
    shares = [float(share) for share, _ in server.footprint.growths]
    ages, capacity, capped = max(map(len, kinds)), float(server.capacity), False
    held = np.array([np.pad(kind, (0, ages - len(kind))) for kind in kinds])
    weights = mean_weights(server.footprint)
    setting = 0.8 * capacity / float(weights.lifetime_memory)
    if controller.sets == "running":
        capped, setting = True, setting * float(weights.mean_lifetime)
    memory, running = (
        np.zeros(ages),
        np.zeros(ages),
    )  # of who is there, in this and later iterations
    usage = []
    for n in range(readings * controller.every):
        come = max(0, int(setting) - int(running[0])) if capped else rng.poisson(setting)
        classes = rng.multinomial(come, shares)
        memory += classes @ held
        running += classes @ (held > 0)
        if n % controller.every == controller.every - 1:
            usage.append(memory[0] / capacity)
            setting = law(setting, usage[-1])
        memory, running = (np.append(x[1:], 0.0) for x in (memory, running))
    return np.array(usage)


def main_period(usage: np.ndarray, every: int) -> float:
    """Iterations; where most of the power is."""
    return len(usage) / np.abs(np.fft.rfft(usage - usage.mean())).argmax() * every


def test_whole_requests_swing_little_below_the_largest_gain_and_cycle_above_at_its_period():
    server, controller = fk.FullServer(MIX, 2_000_000), fk.Controller("rate", every=5)
    found = fk.control_margins(MIX, controller)
    balance = 0.8 * float(server.capacity / mean_weights(MIX).lifetime_memory)

    def usage(gain: float) -> np.ndarray:
        # around its target it is `integral_control`, but a rate of 0 is not for ever
        return served(
            server,
            controller,
            lambda rate, used: max(0.0, rate + gain * balance * (0.8 - used) / 0.8),
            readings=1500,
        )[300:]

    calm, wild = usage(0.5 * found.largest_gain), usage(1.1 * found.largest_gain)
    assert calm.std() < 0.02
    assert wild.std() > 10 * calm.std()
    assert main_period(wild, controller.every) == pytest.approx(found.period, rel=0.1)


def test_a_taper_over_a_turnover_is_far_from_cycling_and_a_cut_by_half_cycles():
    """prime-rl's growth by 20 % a turnover at no usage, none at 80 %: gain 0.2 a turnover."""
    turnover = round(float(mean_weights(MIX).mean_lifetime))
    found = fk.control_margins(MIX, fk.Controller("running", every=turnover))
    assert found.gain_margin(0.2) > 5
    server = fk.FullServer(MIX, 120_000)
    law = fk.additive_increase(2, cut=0.5, above=0.9)
    flow = fk.controlled(server, fk.Controller(every=10), law, readings=2000)
    assert flow.period is not None
    assert flow.usage[1000:].min() < 0.5
    usage = served(server, fk.Controller(every=10), law, readings=4200)[200:]
    # chance crosses the middle more than once in a round: by the spectrum
    assert main_period(usage, 10) == pytest.approx(flow.period, rel=0.1)
    assert usage.min() == pytest.approx(flow.usage[1000:].min(), abs=0.05)
    assert usage.max() == pytest.approx(flow.usage[1000:].max(), abs=0.05)


def test_a_cap_keeps_the_rhythm_of_requests_that_are_all_alike():
    with pytest.raises(fk.InputError, match="footprint"):
        control_margins(fk.RequestFootprint(100, 24), fk.Controller("running"))


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: fk.Controller("speed"), "sets"),  # type: ignore[arg-type]
        (lambda: fk.Controller(every=0), "every"),
        (lambda: fk.Controller(delay=-1), "delay"),
        (lambda: fk.integral_control(0.0, 0.8), "gain"),
        (lambda: fk.integral_control(0.1, float("nan")), "target"),
        (lambda: fk.additive_increase(0, cut=0.5, above=0.9), "step"),
        (lambda: fk.additive_increase(1, cut=1.0, above=0.9), "cut"),
        (lambda: fk.additive_increase(1, cut=0.5, above=0.0), "above"),
        (lambda: fk.control_margins(MIX, fk.Controller("rate")).gain_margin(-1.0), "gain"),
    ],
)
def test_what_no_controller_has_is_refused(call, argument):
    with pytest.raises(fk.InputError, match=argument):
        call()
