"""Each notebook runs from top to bottom in a clean kernel, warnings as errors, public names only.

What a page says in words about its numbers stands in `CHECKS` as assertions, which run in the
page's own kernel after its last cell.
"""

import ast
import os
from importlib import import_module
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from docs._site.stored import PATIENT

HERE = Path(__file__).parent
NOTEBOOKS = sorted(HERE.glob("*.ipynb"))
NEEDS_TRACES = {"06_measured_log.ipynb"}

WARNINGS_ARE_ERRORS = "import warnings\nwarnings.simplefilter('error')"

CHECKS = {
    "01_first_verdict.ipynb": """
first, second = verdicts["8 and 12"], verdicts["8 and 13"]
assert first.verdict is fk.Stability.UNSTABLE and second.verdict is fk.Stability.STABLE
assert first.evidence is fk.Evidence.EXACT and second.evidence is fk.Evidence.EXACT
assert first.decode_gcd == 4 and second.decode_gcd == 1
# "nearly the same"
assert abs(first.equilibrium.in_flight / second.equilibrium.in_flight - 1) < Fraction(1, 100)
assert abs(first.equilibrium.rate / second.equilibrium.rate - 1) < Fraction(6, 100)
# "a few thousandths"
assert all(abs(r - 1) < 0.005 for found in verdicts.values() for r in found.spectral_radius)
assert fk.input_scale_bracket(systems["8 and 12"].workload).stable is None
evicting = {
    name: int((data.evicted.sum(["iteration", "class"]) > 0).sum()) for name, data in runs.items()
}
assert evicting == {"8 and 12": 8, "8 and 13": 0}
""",
    "02_cascade.ipynb": """
losses = story.support_losses
assert [loss.iteration for loss in losses] == [33, 72, 79, 81, 87, 93, 102]
assert story.first_eviction == 33 and story.settled.iteration == 102
assert story.settled.attractor == "maximal-eviction cycle"
# "the bump comes back a little larger than it was", each 8 iterations
bumps = admitted[0:33:8] - best
assert (np.diff(bumps) > 0).all() and (admitted[1:33:8] < best).all()
# "An empty place stays empty"
empty = by_place.mass.values == 0
assert (empty[:-1] <= empty[1:]).all()
# "some forty iterations", "within 10 %", "next to nothing is thrown out", "quick succession"
assert 35 <= losses[1].iteration - losses[0].iteration <= 45
calm = in_flight[losses[0].iteration : losses[1].iteration]
assert np.abs(calm / (8 * best) - 1).max() < 0.1
assert accounts["seven places left"].wasted_share < 0.01
assert losses[-1].iteration - losses[1].iteration <= 30
# "a flow with seven places is as unstable as the one with eight"
unstable = {c.level for c, s in zip(found.cycles, found.stability, strict=True)
            if s.verdict is fk.Stability.UNSTABLE}
assert unstable == set(range(7))
# "let in together", "thrown out at every step of the way", "the rest finish together"
end = [e.iteration for e in story.evictions if 102 <= e.iteration < 158]
assert len(end) == 7 * 7 and (by_place.mass.values[102:] > 0).sum() == len(n) - 102
# "the three parts add up", up to rounding of some thousand products of order 1e3
assert all(abs(a.balance) < 1e-9 * a.used for a in accounts.values())
# "At first completions are even above the smooth rate", "the stock, whose requests get younger"
first = accounts["before the first eviction"]
assert first.completed > first.used and first.in_flight_after < first.in_flight_before
assert first.evicted == 0
# "In the end ... exactly the share of throughput that is lost": whole rounds of a cycle
last = accounts["one place, for good"]
assert abs(last.wasted_share - float(1 - found.worst_case_ratio)) < 1e-12
assert abs(last.in_flight_after - last.in_flight_before) < 1e-9 * last.used
assert attracting == ["maximal-eviction cycle"]
# "comes close to half"
assert 0.5 < worst_rate / best_rate < 0.51
# "All of them end in the same place; starting closer to the smooth state only buys time"
assert all((end.attractor == "maximal-eviction cycle").all() for end in ends.values())
assert ends["close to the smooth state"].settled.min() > np.median(ends["anywhere"].settled)
assert all(end.settled.max() < 400 for end in ends.values())  # the histogram shows all
""",
    "03_gcd.ipynb": """
# "in the end every other iteration lets nobody in", "thrown out"; "With 4 and 7 it dies out"
late = runs["4 and 8"].admitted.sum("class").values[0][-8:]
assert ((late[1:] == 0) != (late[:-1] == 0)).all()
assert float(runs["4 and 8"].evicted.sum()) > 1 and float(runs["4 and 7"].evicted.sum()) == 0
calm = fk.simulate(systems["4 and 7"], swung(systems["4 and 7"]), iterations=2000)
rate = fk.eviction_free_equilibrium(systems["4 and 7"]).rate
assert np.allclose(calm.admitted.sum("class").values[0][-10:], float(rate), rtol=1e-4)
assert verdicts["4 and 8"].unstable_modes == 3 and verdicts["4 and 7"].unstable_modes == 0
assert all(v.evidence is fk.Evidence.EXACT for v in verdicts.values())
# "Every curve comes down", "g - 1 modes stay outside", "leave two growing modes"
for found in thresholds.values():
    modes = [w.growing_modes for w in found.windows]
    assert modes == sorted(modes, reverse=True)
assert thresholds["4 and 8"].windows[-1].growing_modes == 3
assert thresholds["20 and 21"].least > 1000
assert next(w for w in thresholds["20 and 21"].windows if 1000 <= w.last).growing_modes == 2
# "for prompts of millions of tokens", "of the order of n^3"
assert tiers[127, 255, 509].least > 2e6 and tiers[128, 256, 512].least is None
slopes = [np.polyfit(np.log(lengths[4:]), np.log(v[4:]), 1)[0] for v in least.values()]
assert all(2.8 < slope < 3.2 for slope in slopes)
# "each certified on both sides"
for other in families.values():
    for n in lengths.tolist():
        pair = fk.input_threshold(fk.LengthMix((other(n), n), (HALF,)))
        assert pair.at.outside == 0 and pair.below.outside > 0
# the run ends on the pulse cycle; "a fifth", "a third"
last = long_run.completed.sum("class").values[0][-1] / 400
assert abs(last / float(cycle.throughput) - 1) < 1e-9
# "only one in four lets anybody in"
ended = fk.simulate(unstable, swung(unstable), iterations=2000, record=("admitted",))
assert (ended.admitted.sum("class").values[0][-400:] > 0).sum() == 100
# "costs little"
assert 0.9 < float(cycle.share_of_best) < 1
assert cycle.period == 4 and 0.3 < 1 - float(share) < 0.4
short = fk.System(
    fk.Workload(tuple(fk.RequestClass(40, n, HALF) for n in (40, 80))), capacity=50_000
)
assert 0.18 < 1 - float(fk.pulse_cycle(short).share_of_best) < 0.22
""",
    "04_engines.ipynb": """
import numpy as np
throughput = {name: found.throughput.item() for name, found in late.items()}
tax = {name: found.recompute_tax.item() for name, found in late.items()}
evicted = {name: found.preemption_rate.item() for name, found in late.items()}
# "loses almost 40 %", "as many requests an iteration as the smooth state would"
assert 0.35 < 1 - throughput["restart"] / best < 0.4 and throughput["vllm"] >= best
# "More than half of what it computes", "a quarter of all computed tokens"
assert tax["restart"] > 0.5 and 0.24 < tax["vllm"] < 0.28
# "the period of an answer", "about half as far", "its own smooth rate is 1.695"
swing = {name: run.running.values[0, 1500:] for name, run in runs.items()}
for name in ("restart", "vllm"):
    spectrum = np.abs(np.fft.rfft(swing[name] - swing[name].mean()))
    assert abs(500 / spectrum.argmax() / 40 - 1) < 0.1, name
assert 0.4 < swing["vllm"].std() / swing["restart"].std() < 0.65
assert round(2000 / sum(10 + j for j in range(40)), 3) == 1.695 > throughput["vllm"]
# "evicts nobody", "two fifths empty", "the same throughput as the collapse"
assert evicted["trtllm-no-evict"] == 0
assert abs(late["trtllm-no-evict"].utilisation.item() - 0.6) < 0.02
assert throughput["trtllm-no-evict"] == throughput["restart"] == 1.0
# "have not come back by the end of the run"
assert 0 < evicted["sglang"] < 1 and float(runs["sglang"].admit_resumed.sum()) == 0
# "runs smoothly for a while; then ...", "It does not come back by itself"
grows = {name: (fk.metrics(run).queue_drift > 0.1).sum().item() for name, run in open_runs.items()}
assert grows["restart"] >= 14 and grows["vllm"] == 0
ends = open_runs["restart"].waiting.values[:, -40:].min(axis=1)
assert (ends > 0).sum() >= grows["restart"]
# "stops evictions ... keeps the throughput", "Both let a burst in and only make it smaller"
for engine in ("restart", "vllm"):
    swept = fk.serve(queue, fk.Server(engine, list(settings.values())), iterations=2000, keep_requests=False)
    found = fk.metrics(swept, first=400)
    rates = found.preemption_rate.values
    assert rates[1] < 0.01 and found.throughput.values[1] > 0.96 * best
    assert (0.1 * rates[0] < rates[2:]).all() and (rates[2:] < rates[0]).all()
# "65 old requests would hold more than 3,000 tokens"
assert held == 65 and 65 * (10 + 39) > 3000
# "The dearer a prefill, the more of the loss comes back"
ratio = [g / c for g, c in zip(*(f.throughput_per_time.values for f in served.values()))]
assert (np.diff(ratio) < 0).all() and ratio[0] > 1 and ratio[-1] < 0.52
""",
    "05_wait.ipynb": """
# "a little more than M*"
assert 1 < memory / float(fluid.memory) < 1.2
# "evicts nobody", "cannot exceed what its thresholds hold"
assert (found["WAIT"].preemptions == 0).all() and (runs["WAIT"].peak_tokens <= memory).all()
# "recovers from some bursts", "in six of the eight seeds one comes from which it does not"
evicting = runs["fcfs-new-first"].preempt.values > 0
assert (evicting[:, :-1] & ~evicting[:, 1:]).any(axis=1).all()
assert evicting[:, -300:].all(axis=1).sum() == 6
# "keeps almost all throughput", "the shortest tail", "now and then"
rate = {name: row.throughput_per_time.mean().item() for name, row in found.items()}
assert rate["fcfs-running-first"] > 0.97 * rate["WAIT"]
tails = {name: row.latency_p99.mean().item() for name, row in found.items()}
assert min(tails, key=tails.get) == "vllm" and 0 < found["vllm"].preemption_rate.mean() < 0.2
# "no policy reaches", "One token more would do": proved
assert blind.attained < blind.at_most < target.throughput == 3 < more
# "far fewer runs exceed it than it allows"
assert exceeded < 0.2 * float(delta) * chains.sizes["run"]
# "a fraction of a prompt at each stage"; "ten times as long and a hundred times as rare"
assert all(n < Fraction(1, 10) for n in fk.wait.fluid_equilibrium(chats).per_stage)
""",
    "07_prefix.ipynb": """
# "finds everything but what is new"
whole = runs["all of it"]
assert (whole.hit_tokens == whole.tokens - 1024).all()
# "lie close together, and the optimum is far above"
best, *blind = (curve.hit_rate for curve in study.curves)
assert np.ptp(blind, axis=0).max() < 0.06 and (best - np.max(blind, axis=0)).max() > 0.2
# "L-LRU evicts every token just before it comes again": each prompt's own
assert first(lru) == 44 * (TURNS - 1)
# "each token misses at most once", in a phase, which is about a turn
assert set(np.diff(phases)) <= {43, 44}
assert first(rlt).max() < first(lru) / 4 and first(opt) <= first(rlt).min()
# "more goes than is needed, and the cache is emptier than its size says"
assert filled["single tokens"][30:].min() == 1 and filled["whole nodes"][30:].mean() < 0.97
assert found["whole nodes"] < found["single tokens"]
# "computes each prefix on every worker"; "computes it once"
hit = {name: rows[name].mean("hit_rate") for name in names}
assert min(hit["cache-aware"], hit["lbgr"]) > 2 * max(hit["random"], hit["round-robin"])
median = {name: rows[name].mean("latency_p50") for name in names}
assert max(median["cache-aware"], median["lbgr"]) < min(median["random"], median["round-robin"])
""",
    "08_preemption.ipynb": """
# "The order is that of the proposal", in each memory that preempts
order = ["least computed", "last come", "random", "most computed"]
assert (np.diff([tax[name][:-1] for name in order], axis=0) > 0).all()
assert all(values[-1] == 0 for values in tax.values())
# "Least computed preempts most often"
assert all(preempted["least computed"][k] > preempted[n][k] for n in order[1:] for k in range(4))
# "not shared evenly"
by_length = paid["least computed"]
assert by_length[short].mean() > 2 * by_length[~short].mean()
# "The tax is a matter of how requests come back", "The longest gap is a matter of whom"
assert study.effects["recompute_tax"].of[0].factor == "restore"
assert study.effects["longest_gap_p99"].of[0].factor == "victim"
# "Where the line crosses the dashed one"
assert waits[0] < own < waits[-1]
""",
    "09_tokenpd.ipynb": """
kept_by = {each.name: each for each in found.kept}
brings = {each.with_it: each.mass for each in found.pick.brings}
# "the worst request keeps much more", "within the spread of sixteen requests"
assert kept_by["return-pooled"].worst > kept_by["return"].worst + 0.15
assert brings["return-pooled"].mean > 0.02 and not brings["return-pooled"].told
# "keeps what the best of the pool keep, or a little less", "more is kept, with more memory"
assert -0.002 < brings["token-pd-hard"].mean <= 0
assert brings["token-pd"].low > 0 and kept_by["token-pd"].peak > 256 == kept_by["h2o"].peak
# "What is gone does not come back"
for each in found.kept:
    there = each.there[:-1]  # in the last round the request ends
    assert not (there[1:, :16] & ~there[:-1, :16]).any() and each.recomputed == 0
# "it loses 1/4 a round, a third of what there is", "every other round uses twice the memory"
assert (best, netted, hard) == (7500, 10000, 5000) and sums_alternating.above.item() == 5000
assert sums_alternating.imbalance.item() == 0
# "hardly anything is left, far less than sqrt(T)"; "grows as T"; "netted below 0, hard above"
assert all(v < np.sqrt(t) / 8 for v, t in zip(violation, lengths))
assert 0.9 < np.polyfit(np.log(lengths), np.log(above), 1)[0] < 1.1
for run in runs[2:]:
    assert (run.optimum - run.netted).mean() < 0
    assert (run.optimum - run.hard).mean() > 0.1 * run.rounds
# "All of this rests on what tokens are predicted to get"
assert max(kept, key=kept.get) == "oracle" and max(kept.values()) > min(kept.values()) + 0.02
""",
    "10_sweep.ipynb": """
assert points.verdict.size == 100_000 and (points.status == 1).all()
# "none of them stands exactly on the boundary of stability"
assert (points.growing_modes > 0).where(points.neutral_modes > 0, True).all()
assert (points.verdict != verdicts.index("undecided")).all()
# "at no share is there a second window", "longer inputs stay stable"
assert (np.diff(stable.values.astype(int), axis=1) >= 0).all()
# "lowest where about two thirds", "towards either end it leaves the map"
assert 0.6 < best.item() < 0.73 and not stable.values[[0, -1]].any()
# the dots: the next length of the axis is the first stable one in the store
for share, found in zip(some, least, strict=True):
    at = stable.isel(share=share.numerator * 201 // share.denominator - 1)
    assert (at == (at.input_length >= found)).all()
assert agreed == 100
assert told[-1] - told[0] == 25_000 and contents() == whole
""",
    "11_basins.ipynb": """
# "Two orbits, and no start that ends elsewhere", "about one start in forty"
assert sorted(ends.length.values) == [3, 36] and int(ends.starts.sum()) == 2000
assert 1 / 60 < float(ends.basin_share[list(ends.length.values).index(3)]) < 1 / 30
# "The short one carries more"
assert orbits[1].period == 3 and orbits[1].throughput > orbits[0].throughput
assert all((period == 3).any() and set(period) == {3, 36} for period in painted)
assert all(orbit.attracts for orbit in (*orbits, cycle))
# "all modes decay, and yet a few starts go on", "a little more than the smooth state"
assert fk.stability(other).verdict is fk.Stability.STABLE
assert 0 < (beside.period == 7).sum() < 100 and 1 < cycle.share_of_best < Fraction(102, 100)
""",
    "12_a_real_log.ipynb": """
# "It is off by a few percent"
assert max(abs(one.relative) for one in found.bias.values()) < 0.03
# "nothing that a user feels gets better by more than the error", "less than a fifth"
assert all(gain.relative < gain.needed for each in gains.values() for gain in each)
assert taken == today.now and preempted[-1] < preempted[0] / 5
# "Right of the line memory buys little; left of it a tenth less triples the wait"
beyond = [kv for kv in sizes if kv > 1.3 * answer]
assert max(waits[kv] for kv in beyond) < 0.5 and sized.meets(sized.answer)
tenth = min(sizes, key=lambda kv: abs(kv - 0.9 * answer))
assert abs(tenth / answer - 0.9) < 0.01 and waits[tenth] > 3 * waits[answer]
""",
    "13_metastability.ipynb": """
# "all four fall, two soon and two after thousands of calm iterations"
late = records.preempt[:, -10:].mean(axis=1) / 40
assert (late > 3.5).all()
fell = [int(np.argmax(run > 80)) * 40 for run in records.preempt]
assert sorted(np.array(fell) > 2500) == [False, False, True, True]
# "with the same chance": no load is told apart from a constant hazard
assert min(chances.values()) > 0.05
assert float(collapsed) < 1.05 and all(mean[a] > 2 * mean[b] for a, b in zip(rates, rates[1:]))
# "Shedding load works", "so does a cap on the rate", "does not cure one"
returned = [int(times.observed.sum()) for times in back.values()]
assert returned == [0, 60, 0, 60]
""",
    "14_jax.ipynb": """
# "Not one of them finds the smooth state", "about one request in six is evicted"
assert (np.asarray(seen["first"]) > 0).all() and 0.15 < late["evicted"] < 0.19
# "exactly the roots", "once in four iterations or so", "by four to five percent"
assert gap < 1e-12 and len(proof.modes) == 1 and proof.complete
(mode,) = proof.modes
assert 3.5 < mode.period < 4.5 and 1.04 < mode.modulus[0] < mode.modulus[1] < 1.05
# "the boundary that Newton's method found in floats"
assert abs(float(boundary.boundary) - edge) < 1e-9
assert fk.input_threshold(mix).least == 30
# "The slope jumps where the front changes"
assert 4 <= len(np.unique(np.asarray(slope).round(6))) <= 12
""",
    "15_noise.ipynb": """
# "move by several", "how far from the lengths alone"
assert 2 < chance.running_std < 5 and abs(runs.std() / chance.running_std - 1) < 0.1
# "Of the first server it finds nothing", "far too much, at one period"
cycle = fk.swing_test(in_step, shared)
assert test.noise and not cycle.noise and cycle.ratio.max() > 1000
stable, unstable = fk.Stability.STABLE, fk.Stability.UNSTABLE
assert list(verdicts.values()) == [unstable, stable, stable, unstable]
# "more at long periods than chance has"
assert seen.ratio.argmax() == 0 and seen.ratio.max() > seen.high
""",
    "06_measured_log.ipynb": """
assert found.verdict is fk.Stability.UNSTABLE and found.unstable_modes == 2
assert measured.oscillation.beats_red_noise and measured.oscillation.methods_agree
# "the level is predicted well", "to within the resolution of the window"
assert abs(comparison.in_flight_difference) < 0.02
assert shortest < comparison.predicted_period_s < longest
halves = [fk.measure(series, window=windows[f"its {half} half"]) for half in ("first", "second")]
assert halves[0].oscillation.beats_red_noise and not halves[1].oscillation.beats_red_noise
# "the measured swings shrink", while the mode grows
assert data["spread_second_half"] < data["spread_first_half"] and found.spectral_radius[0] > 1
# "close to the mean output length", "for other workloads the two differ widely"
assert abs(found.leading_period / float(workload.mean_decode_length) - 1) < 0.02
other = fk.preset("sharegpt")
period = fk.stability(fk.System(other, 2 * other.largest_footprint)).leading_period
assert period > 2 * float(other.mean_decode_length)
""",
}


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request):
    return request.param


def printed(cell):
    """What a cell prints, and what else it shows as text; how they interleave is chance."""
    outputs = cell.get("outputs", [])
    said = "".join(o.text for o in outputs if o.output_type == "stream")
    shown = [o.data.get("text/plain") for o in outputs if o.output_type != "stream"]
    return said, shown


def test_every_notebook_is_checked():
    assert {path.name for path in NOTEBOOKS} == set(CHECKS)


def test_notebook_runs_and_its_words_hold(path, tmp_path, request):
    environment = os.environ | {
        # `make test` asks for a backend that cannot show a figure inline.
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        # The reader's own start-up files and settings play no part.
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "JUPYTER_CONFIG_DIR": str(tmp_path / "jupyter"),
    }
    if path.name in NEEDS_TRACES:
        environment["FLUIDKV_TRACES"] = str(request.getfixturevalue("traces_dir").resolve())
    notebook = nbformat.read(path, as_version=4)
    cells = notebook.cells
    stored = {cell.id: printed(cell) for cell in cells}
    # The first cell loads JAX and Matplotlib; the filter comes after it, so that it judges this
    # project's calls and not how other packages import each other.
    first = next(i for i, cell in enumerate(cells) if cell.cell_type == "code")
    cells.insert(first + 1, nbformat.v4.new_code_cell(WARNINGS_ARE_ERRORS))
    cells.append(nbformat.v4.new_code_cell(CHECKS[path.name]))

    client = NotebookClient(
        notebook, kernel_name="python3", resources={"metadata": {"path": str(HERE)}}, **PATIENT
    )
    client.execute(env=environment)  # raises where a cell does

    assert {cell.id: printed(cell) for cell in cells if cell.id in stored} == stored
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert not [o.text for o in outputs if o.output_type == "stream" and o.name == "stderr"]
    assert any("image/png" in o.get("data", {}) for o in outputs), "no picture was drawn"
    lines = [line for o in outputs if o.output_type == "stream" for line in o.text.splitlines()]
    assert lines


def test_notebook_is_stored_with_the_outputs_of_one_run(path):
    """From top to bottom, pictures included: it shows where it is read."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert all("execution" not in cell.metadata for cell in cells)  # no times of day


def test_notebook_uses_public_names_only(path):
    notebook = nbformat.read(path, as_version=4)
    source = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    used = list(_fluidkv_names(ast.parse(source)))
    assert used
    for module, name in used:
        assert name in import_module(module).__all__, f"{module}.{name} is not public"


def _fluidkv_names(tree: ast.AST):
    """Pairs (module, name) for what a page takes from fluidkv, as `fk.name` or by import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "fluidkv":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "fluidkv":
                    assert (alias.name, alias.asname) == ("fluidkv", "fk"), alias.name
        elif isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_"), f"private name {node.attr}"
            if isinstance(node.value, ast.Name) and node.value.id == "fk":
                yield "fluidkv", node.attr
