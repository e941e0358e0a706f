"""What a spec may say, what is refused of it, and the specs that the page shows."""

import json
import re
import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs._site.analyses import analyses_page
from fluidkv.errors import InputError
from fluidkv.sweeps import open_sweep
from fluidkv.sweeps.analyses.named import ANALYSES
from fluidkv.sweeps.analysis import DONE
from fluidkv.sweeps.planning import Plan, plan
from fluidkv.sweeps.running import run
from fluidkv.sweeps.spec.spec import read_spec
from tests.sweeps.conftest import MAP

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = sorted((DOCS / "sweeps").glob("*.toml"))
SETTINGS = {"decode_length": [2, 3], "capacity": 1000}


def _values(said: Any, name: str = "input_length", table: str = "grid") -> list[Any]:
    rest = {"input_length": 4, "share": "1/2"}
    rest.pop(name, None)
    spec = read_spec({"analysis": "stability", "settings": SETTINGS | rest, table: {name: said}})
    return list(spec.axes[0].columns[name])


def _sample(seed: int = 0, points: int = 64, **columns: Any) -> dict[str, list[Any]]:
    settings = SETTINGS | {"input_length": 4, "share": "1/2"}
    spec = read_spec(
        {
            "analysis": "stability",
            "seed": seed,
            "settings": {k: v for k, v in settings.items() if k not in columns},
            "sobol": {"points": points, **columns},
        }
    )
    return {name: list(values) for name, values in spec.axes[0].columns.items()}


@pytest.mark.parametrize(
    ("said", "values"),
    [
        ({"from": 3, "to": 6}, [3, 4, 5, 6]),
        ({"from": 3, "to": 9, "step": 3}, [3, 6, 9]),
        ({"from": 1, "to": 100, "count": 3, "scale": "log"}, [1, 10, 100]),
        ({"from": 1, "to": 2, "count": 2}, [1, 2]),
        ({"from": 1, "to": 3, "count": None}, [1, 2, 3]),
        ({"from": 1, "to": 3, "count": 2, "step": None}, [1, 3]),
        ({"from": 7, "to": 7, "count": 1}, [7]),
        ([9, "8", Decimal("7.0")], [9, 8, 7]),
        ({"from": 1, "to": 9, "step": "8 / 2"}, [1, 5, 9]),
        ({"from": 1, "to": 9, "count": "6/2"}, [1, 5, 9]),
    ],
)
def test_ranges_of_whole_numbers(said: Any, values: list[int]) -> None:
    assert _values(said) == values


def test_shares_are_exact() -> None:
    tenths = _values({"from": Decimal("0.1"), "to": "9/10", "count": 9}, "share")
    assert tenths == [Fraction(i, 10) for i in range(1, 10)]
    third, half = _values(["1/3", Decimal("0.5")], "share")
    assert (third, half) == (Fraction(1, 3), Fraction(1, 2))


def test_a_double_of_python_is_the_decimal_of_a_file() -> None:
    text = 'analysis = "stability"\n[settings]\ninput_length = 4.0\ndecode_length = [2, 3]\n'
    text += "capacity = 1e3\n[grid]\nshare = { from = 0.05, to = 0.25, step = 0.1 }\n"
    of_file = read_spec(tomllib.loads(text, parse_float=Decimal))
    assert read_spec(tomllib.loads(text)).digest == of_file.digest
    assert _values([np.float64(0.1)], "share") == [Fraction(1, 10)]
    with pytest.raises(InputError, match=r"grid.share: got inf"):
        _values([float("inf")], "share")


def test_a_sobol_sample_is_spread_evenly_and_belongs_to_its_seed() -> None:
    columns = {
        "input_length": {"from": 1, "to": 8},
        "share": {"from": "1/10", "to": "9/10", "denominator": 10},
        "capacity": {"from": 10, "to": 10_000, "scale": "log"},
    }
    one, same, other = _sample(**columns), _sample(**columns), _sample(1, **columns)
    assert one == same != other
    assert np.bincount(one["input_length"]).tolist() == [0, *[8] * 8]  # 64 points, 8 numbers
    assert {share.denominator for share in one["share"]} <= {1, 2, 5, 10}
    assert 0.4 < np.mean(np.log10(np.array(one["capacity"], float)) < 2.5) < 0.6
    assert _sample(points=40, **columns)["capacity"] == one["capacity"][:40]
    assert set(_sample(input_length=[5, 7])["input_length"]) == {5, 7}


def test_a_list_is_rows_and_a_grid_goes_with_it(tmp_path: Path) -> None:
    spec = {
        "analysis": "stability",
        "settings": {"capacity": 1000, "decode_length_0": 2, "share": "1/2"},
        "grid": {"decode_length_1": [3, 4]},
        "list": {"input_length": [1, [2, 9], 8], "capacity": [100, 200, 300]},
    }
    del spec["settings"]["capacity"]
    run(plan(spec), tmp_path / "store")
    found = open_sweep(tmp_path / "store")
    assert found.verdict.dims == ("decode_length_1", "row")
    assert found.input_length.values.tolist() == ["1", "2 9", "8"]
    assert found.capacity.values.tolist() == [100, 200, 300]
    assert found.row.values.tolist() == [0, 1, 2]
    assert (found.status == DONE).all()


@pytest.mark.parametrize("size", [1, 2, 5, 7, 12, 100])
def test_chunks_are_boxes_that_cover_all_points_once(size: int) -> None:
    asked = plan(
        MAP | {"chunk": size, "grid": MAP["grid"] | {"capacity": [100, 200]}} | NO_CAPACITY
    )
    seen = np.zeros(asked.shape, int)
    for chunk in range(asked.chunks):
        seen[asked.region(chunk)] += 1
        assert 1 <= asked.size(chunk) <= size
    assert (seen == 1).all()
    rows = [row for chunk in range(asked.chunks) for row in _rows(asked, chunk)]
    assert len({tuple(row[name] for name in asked.dims) for row in rows}) == 24


NO_CAPACITY = {"settings": {"decode_length": [2, 3]}}


def _rows(asked: Plan, chunk: int) -> list[dict[str, Any]]:
    return list(asked.points_of(asked.region(chunk)).rows())


def test_a_spec_is_what_its_text_says_again() -> None:
    from tests.sweeps.cases import CASES, spec_of

    for name in CASES:
        spec = read_spec(spec_of(name))
        again = read_spec(json.loads(spec.text))
        assert again.text == spec.text
        assert again.settings == spec.settings
        assert [axis.columns for axis in again.axes] == [axis.columns for axis in spec.axes]


def _said(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in (MAP | changes).items() if value is not None}


GRID = MAP["grid"]
BAD: list[tuple[dict[str, Any], str]] = [
    (_said(analysis="stabilty"), "analysis: got 'stabilty'; allowed: stability"),
    (_said(analysis=None), "analysis: got 'none'; allowed: the name of an analysis"),
    (_said(gird={}), "spec: got 'gird'; allowed: grid"),
    (_said(capacity=5), "spec: got 'capacity'; allowed: capacity under [settings]"),
    (_said(grid={}), "grid: got 'no axis'"),
    (_said(grid=None), "grid: got 'none'; allowed: an axis under [grid], [list] or [sobol]"),
    (_said(grid=3), "grid: got 3; allowed: a table, [grid]"),
    (_said(title=3), "title: got 3; allowed: a text"),
    (_said(seed=-1), "seed: got -1; allowed: a whole number from 0 to"),
    (_said(chunk=0), "chunk: got 0"),
    (_said(grid=GRID | {"shar": [1]}), "grid: got 'shar'; allowed: share"),
    (_said(settings=SETTINGS | {"iterations": 5}), "settings: got 'iterations'; allowed: one of"),
    (_said(settings={"decode_length": [2, 3]}), "capacity: got 'none'; allowed: a value under"),
    (_said(settings=SETTINGS | {"share": "1/2"}), "share: got 'said twice'"),
    (_said(grid=GRID | {"share": []}), "grid.share: got 'no values'; allowed: at least one"),
    (_said(grid=GRID | {"share": ["1/2", "2/4"]}), "grid.share: got '1/2 twice'; allowed: values"),
    (_said(grid=GRID | {"share": [Decimal("1e-99999999")]}), "grid.share: got 1E-99999999; allow"),
    (
        _said(grid={"input_length": {"from": 1, "to": 9, "step": float("nan")}}),
        "grid.input_length.step: got nan; allowed: a number above 0",
    ),
    (
        {"analysis": "serve", "settings": {"rate": Decimal("1e400")}, "grid": {"seed": [1]}},
        "settings.rate: got 1E+400; allowed: a number above 0",
    ),
    (_said(grid=GRID | {"share": "1/2"}), "grid.share: got '1/2'; allowed: a list of values, or {"),
    (_said(grid=GRID | {"share": [1.5]}), "grid.share: got 1.5; allowed: a number above 0 and at"),
    (_said(grid=GRID | {"share": [2]}), "grid.share: got 2; allowed: a number above 0 and at most"),
    (_said(grid=GRID | {"share": [True]}), "grid.share: got True"),
    (_said(grid={"input_length": [0]}), "grid.input_length: got 0; allowed: a whole number of at"),
    (_said(grid={"input_length": {"from": 1}}), "grid.input_length: got {'from': 1}; allowed: a r"),
    (_said(grid={"input_length": {"from": 2, "to": 1}}), "grid.input_length: got '2 to 1'"),
    (
        _said(grid={"input_length": {"from": 1, "to": 3, "cout": 2}}),
        "grid.input_length: got 'cout'; allowed: count",
    ),
    (
        _said(grid={"input_length": {"from": 1, "to": 3, "count": 9}}),
        "grid.input_length: got {'from': 1, 'to': 3, 'count': 9}; allowed: values that",
    ),
    (
        _said(grid={"share": {"from": "1/10", "to": "1/2"}, "input_length": [1]}),
        "grid.share: got {'from': '1/10', 'to': '1/2'}; allowed: a count",
    ),
    (_said(list={"capacity": [9, 8], "seed": [1]}), "list: got 'seed'"),
    (
        _said(grid=None, list={"input_length": [1, 2], "share": ["1/2"]}),
        "list.share: got '1 values'; allowed: 2, as list.input_length has",
    ),
    (_said(sobol={"capacity": [9]}), "sobol.points: got 'none'"),
    (
        _said(settings={"decode_length": [2, 3]}, sobol={"points": 4, "capacity": {"from": 9}}),
        "sobol.capacity: got {'from': 9}; allowed: a range with from and to",
    ),
    (
        {"analysis": "serve", "settings": {"engine": "vlm"}, "grid": {"seed": [1]}},
        "settings.engine: got 'vlm'; allowed: vllm",
    ),
    (
        {"analysis": "serve", "settings": {"seed": 4}, "grid": {"capacity": [9]}},
        "settings: got 'seed'; allowed: seed above all tables",
    ),
    (
        {"analysis": "cache", "grid": {"policy": {"from": "lru", "to": "opt"}}},
        "grid.policy: got {'from': 'lru', 'to': 'opt'}; allowed: a list of values",
    ),
]


@pytest.mark.parametrize("number", ["1e" + "9" * 30, "9" * 5000], ids=["exponent", "digits"])
def test_a_file_with_a_number_too_long_to_read_is_refused(number: str, tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_text(f"seed = {number}\n")
    with pytest.raises(InputError, match=r"spec: got '.*'; allowed: numbers of at most 1,000 dig"):
        read_spec(path)


@pytest.mark.parametrize(("spec", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_specs_get_one_line_and_nothing_is_written(
    spec: dict[str, Any], message: str, tmp_path: Path
) -> None:
    import fluidkv as fk

    with pytest.raises(InputError, match="^" + re.escape(message)):
        fk.sweep(spec, tmp_path / "store")
    assert not (tmp_path / "store").exists()


NOTHING = ("1e999999999", "1e" + "9" * 30, "9" * 5000, Decimal("NaN"), float("inf"), {"a": 1}, [])


@pytest.mark.parametrize("value", NOTHING, ids=lambda value: repr(value)[:9])
def test_what_no_setting_can_be_is_refused_by_its_name(value: Any) -> None:
    for name, analysis in ANALYSES.items():
        for each in analysis.settings:
            table = "grid" if each.name == "seed" else "settings"
            said = [value] if table == "grid" else value
            with pytest.raises(InputError) as refused:
                read_spec({"analysis": name, table: {each.name: said}})
            assert str(refused.value).startswith(f"{table}.{each.name}: got ")
            assert "\n" not in str(refused.value)


def test_settings_that_stand_for_nothing_are_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match="capacity: got 3; allowed: more than 4 tokens"):
        run(plan(MAP | {"settings": {"decode_length": [2, 3], "capacity": 3}}), tmp_path / "store")
    assert not (tmp_path / "store").exists()


# ----------------------------------------------------------------------------------- the page


def _small(said: dict[str, Any]) -> dict[str, Any]:
    """Two values along each axis, and little work at each point."""
    grid = {
        name: each[:2]
        if isinstance(each, list)
        else {"from": each["from"], "to": each["to"], "count": 2}
        for name, each in said["grid"].items()
    }
    less = {"requests": 20, "run_time": 50}
    settings = {k: less.get(k, v) for k, v in said["settings"].items()}
    return said | {"grid": grid, "settings": settings}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_specs_of_the_page_run(path: Path, tmp_path: Path) -> None:
    plan(path)  # as it is
    said = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    run(plan(_small(said)), tmp_path / "store")
    assert (open_sweep(tmp_path / "store").status == DONE).all()


def test_the_page_shows_a_spec_as_it_is() -> None:
    text = (DOCS / "sweep.md").read_text(encoding="utf-8")
    shown = re.findall(r"<!-- the file (docs/\S+) -->\n```toml\n(.*?)```", text, flags=re.S)
    assert shown
    for name, content in shown:
        assert (DOCS.parent / name).read_text(encoding="utf-8") == content


def test_the_page_has_every_setting_and_variable_of_each_analysis() -> None:
    parts = re.split(r"^## ", analyses_page()["analyses.md"], flags=re.M)[1:]
    assert [part.partition("\n")[0] for part in parts] == list(ANALYSES)
    for part, analysis in zip(parts, ANALYSES.values(), strict=True):
        rows = re.findall(r"^\| `(\w+)` \|", part, flags=re.M)
        named = (*analysis.settings, *analysis.variables)
        assert rows == [each.name for each in named]
        assert all(each.title in part for each in named)
