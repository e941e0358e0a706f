"""Which periods the memory resonates at, and for few modes where they lie in the plane."""

import math
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fluidkv import answers, exact
from fluidkv.exact.roots.spectrum import SMALL_DEGREE
from fluidkv.figures import wording
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE, name_axes, zero_line
from fluidkv.verdict import Stability

# Periods shown: from this share of the longest decode length to this multiple of it.
_SHORTEST, _LONGEST = 1 / 32, 10
# Frequencies for each d: the longest period then is the seventh grid point at least, and a peak
# as narrow as a growth of 1e-3 an iteration at d = 100 spans several.
_OVERSAMPLING = 64
_FEWEST_FREQUENCIES = 4096


def spectrum_figure(result: "answers.study.result.StudyResult") -> Figure:
    """Gain by period; roots of F besides where the certificate enclosed all of them."""
    certificate = result.stability.certificate
    return Figure(
        id="spectrum",
        title=_title(result),
        source="fluidkv.stability: the polynomial F of Congestion, equation (10)",
        parameters={"degree": certificate.degree, "method": certificate.method},
        size=(9.0, 3.8),
        data=partial(_data, result),
        draw=partial(_draw, result),
        caption=partial(_caption, result),
    )


def _data(result: "answers.study.result.StudyResult") -> Data:
    """Gains of admissions and of requests in flight at each period; roots and leading roots.

    With w = exp(-2 pi i / period): admissions swing by G(1) / |G(w)| for a relative swing of 1 of
    the memory, requests in flight by that times |A(w)| / A(1), with G = sum of V_s w^s and
    A = sum of alpha_s w^s.
    """
    weights = exact.survival_weights(result.system.workload)
    memory = np.array([v / weights.memory[0] for v in weights.memory])
    alive = np.array([a / weights.requests[0] for a in weights.requests])
    certificate = result.stability.certificate
    leading = _complex([complex(root.ball.mid()) for root in certificate.leading])
    growing = result.growing_modes.modes
    outside = _complex([complex(mode.root.ball.mid()) for mode in growing])
    roots = _complex(np.roots(memory) if certificate.degree <= SMALL_DEGREE else [])
    period, admissions, in_flight = _gains(memory, alive)
    return {
        "period": period,
        "gain_admissions": admissions,
        "gain_in_flight": in_flight,
        "root_real": roots.real,
        "root_imag": roots.imag,
        "leading_real": leading.real,
        "leading_imag": leading.imag,
        "leading_period": np.array([float(r.period.mid()) for r in certificate.leading]),
        "leading_radius": np.array([float(r.ball.rad()) for r in certificate.leading]),
        "growing_real": outside.real,
        "growing_imag": outside.imag,
        "growing_period": np.array([mode.period for mode in growing]),
        "spectral_radius_low": certificate.radius[0],
        "spectral_radius_high": certificate.radius[1],
        "degree": float(certificate.degree),
    }


def _complex(values: ArrayLike) -> NDArray[np.complex128]:
    return np.asarray(values, dtype=np.complex128)


def _gains(
    memory: NDArray[np.float64], alive: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Periods, longest first, and the two gains there; by a padded FFT, in floats."""
    d = len(memory)
    size = 1 << max(_FEWEST_FREQUENCIES - 1, _OVERSAMPLING * d - 1).bit_length()
    first = max(1, math.floor(size / (_LONGEST * d)))
    last = min(size // 2, math.ceil(size / (_SHORTEST * d)))
    k = np.arange(first, last + 1)
    response = np.abs(np.fft.rfft(memory, size)[k])
    # A root on the circle itself would divide by zero; rounding leaves about this much.
    response = np.maximum(response, 1e-15 * memory.sum())
    admissions = memory.sum() / response
    survivors = np.abs(np.fft.rfft(alive, size)[k]) / alive.sum()
    return size / k, admissions, admissions * survivors


def _draw(result: "answers.study.result.StudyResult", data: Data, canvas: Canvas) -> None:
    canvas.suptitle(_title(result), x=0.01, ha="left")
    if data["root_real"].size:
        plane, gain = canvas.subplots(1, 2, width_ratios=[1, 1.7])
        _draw_plane(data, plane)
        gain.set_title("response by period")
    else:
        gain = canvas.subplots()
    _draw_gain(result, data, gain)


def _draw_gain(result: "answers.study.result.StudyResult", data: Data, ax: Axes) -> None:
    period = data["period"]
    zero_line(ax, 1)
    ax.plot(period, data["gain_admissions"], color=BLUE, linewidth=1.0, label="admissions")
    ax.plot(period, data["gain_in_flight"], color=GREY, linewidth=1.0, label="requests in flight")
    name_axes(ax, log="xy")
    # A root on the circle would send the top away; a blind spot of requests in flight the bottom.
    top = min(float(data["gain_admissions"].max()), 1e6)
    low = min(1.0, max(float(data["gain_in_flight"].min()), 0.3))
    ax.set(ylim=(0.8 * low, 3 * max(top, 1.0)), xlim=(period[-1], period[0]))
    _label_decades(ax)
    leading = result.stability.leading_period
    if leading is not None:
        ax.axvline(leading, color=ORANGE, linewidth=1.0, zorder=0)
        factor = wording.growth_a_turn(result.stability)
        ax.annotate(
            f"leading mode: {wording.iterations(leading)},\n× {factor:.3g} a turn",
            (leading, 1),
            (4, -4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            va="top",
            color=ORANGE,
            fontsize=8.5,
        )
    growing = data["growing_period"]
    if growing.size > 1:  # one is the leading mode; along the edge, where curves hardly ever are
        at_edge = {"transform": ax.get_xaxis_transform(), "clip_on": True, "zorder": 3}
        marks = {"color": ORANGE, "markersize": 9, "markeredgewidth": 1.2}
        label = "growing modes" if result.growing_modes.complete else "growing modes, some"
        ax.plot(growing, np.full(growing.size, 0.02), "|", **marks, **at_edge, label=label)
    ax.legend(loc="upper right")
    name_axes(ax, "period of a swing (iterations)", "gain over a swing of the memory")


def _label_decades(ax: Axes) -> None:
    """1, 2, 5, 10, ... on both axes as plain numbers; powers of ten alone on a long axis."""
    from matplotlib.ticker import LogLocator, NullFormatter

    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 300 * low else (1,)))
        axis.set_major_formatter("{x:,g}")
        axis.set_minor_formatter(NullFormatter())


def _draw_plane(data: Data, ax: Axes) -> None:
    turn = np.linspace(0, 2 * np.pi, 400)
    ax.plot(np.cos(turn), np.sin(turn), color=GREY, linewidth=0.8)
    real, imag = data["root_real"], data["root_imag"]
    ax.plot(real, imag, ".", color=BLUE, markersize=5)
    x, y = data["growing_real"], data["growing_imag"]
    ax.plot(np.tile(x, 2), np.concatenate([y, -y]), ".", color=ORANGE, markersize=6)
    x, y = data["leading_real"], data["leading_imag"]
    rings = {"markersize": 9, "markerfacecolor": "none", "color": ORANGE}
    ax.plot(x, y, "o", **rings, label="leading")
    ax.plot(x, -y, "o", **rings)
    reach = 1.12 * max(1.0, float(np.hypot(real, imag).max()))
    ax.set(
        xlim=(-reach, reach),
        ylim=(-reach, reach),
        aspect="equal",
        xticks=[-1, 0, 1],
        yticks=[-1, 0, 1],
        title="modes z and the unit circle",
    )
    ax.annotate("inside: fades\noutside: grows", (0, 0), ha="center", va="center", color=GREY)


def _title(result: "answers.study.result.StudyResult") -> str:
    found = result.stability
    reason = found.reason[:1].upper() + found.reason[1:]
    if found.leading_period is None or found.unstable_modes is None:
        return reason
    leading = {Stability.STABLE: "the slowest to fade", Stability.UNSTABLE: "the fastest"}
    if found.verdict not in leading:
        return reason
    turn = wording.iterations(found.leading_period)
    return f"{reason}; {leading[found.verdict]} turns once in {turn}"


def _caption(result: "answers.study.result.StudyResult", data: Data) -> str:
    found = result.stability
    certificate = found.certificate
    words = [
        "How far admissions and requests in flight swing, relative to the equilibrium, when the "
        "memory at hand swings by 1 at a given period. Peaks are the periods at which the memory "
        "resonates: a mode near the unit circle turns that fast. A stable system settles at this "
        "response; an unstable one leaves it along its growing modes, without any cause. Requests "
        "in flight can hide a mode that admissions show."
    ]
    if data["root_real"].size:
        words.append("Left: all roots of F, growing ones in orange; ring: the leading ones.")
    if data["growing_period"].size > 1:
        words.append(_growing(result))
    words.append("Curves and dots are drawn from floats; the counts are certified")
    if certificate.outside is None:
        words[-1] = (
            "Curves and dots are drawn from floats; the count of growing modes is undecided."
        )
    else:
        words[-1] += (
            f" ({found.evidence}): {certificate.outside:,} of {certificate.degree:,} modes outside "
            f"the unit circle, {certificate.on_circle} on it."
        )
    radius = data["leading_radius"]
    if radius.size:
        words.append(
            f"Each leading mode is enclosed to within {radius.max():.0e}, and the spectral radius "
            f"lies in [{certificate.radius[0]!r}, {certificate.radius[1]!r}]."
        )
    return " ".join(words)


def _growing(result: "answers.study.result.StudyResult") -> str:
    """What the marks along the lower edge are, and how many are not on the axis."""
    found = result.growing_modes
    longest = result.system.workload.longest_decode
    shown = sum(m.period >= max(2, longest * _SHORTEST) for m in found.modes)
    words = f"Marks along the lower edge: periods of growing modes ({found.status})"
    if shown < len(found.modes):
        words += f"; {len(found.modes) - shown:,} of these periods are shorter than the axis"
    return f"{words}."
