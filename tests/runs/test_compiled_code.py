"""Compiled code is kept between processes, and nothing that goes wrong there is ever seen."""

import os
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import monitoring
from jax.experimental.compilation_cache import compilation_cache

from fluidkv.runs import compiled_code, jax_code, kernels
from fluidkv.runs.compiled_code import OFF, VARIABLE, CodeStore, code_store
from fluidkv.runs.kernels import kernel
from fluidkv.runs.precision import in_float64
from fluidkv.serving.caching.sglang.kernel import loop
from fluidkv.serving.kernel import budget

_SETTING = "jax_compilation_cache_dir"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where code is kept here; JAX is as of a user who has set nothing."""
    before = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setenv(VARIABLE, str(tmp_path / "kept"))
    jax.config.update(_SETTING, None)
    compilation_cache.reset_cache()
    yield tmp_path / "kept"
    jax.config.update(_SETTING, before)
    compilation_cache.reset_cache()


def _compile(seed: float) -> list[str]:
    """What JAX said of its cache while it compiled something."""
    said = []

    def listen(event: str, **_: object) -> None:
        if "compilation_cache/cache" in event:
            said.append(event.rsplit("/", 1)[1])

    jax.clear_caches()
    monitoring.register_event_listener(listen)
    try:
        with in_float64():
            found = jax.jit(lambda x: jnp.sin(x) + seed)(np.arange(3.0))
            np.testing.assert_allclose(np.asarray(found), np.sin([0, 1, 2]) + seed, rtol=1e-15)
    finally:
        monitoring.unregister_event_listener(listen)
    return said


def _twice(x: np.ndarray) -> float:
    total = 0.0
    for i in range(x.size):
        total += 2 * x[i]
    return total


def _hits(x: np.ndarray) -> int:
    """How often a fresh kernel found its code."""
    compiled = kernel(_twice)
    assert compiled(x) == 2 * x.sum()
    return sum(compiled.stats.cache_hits.values())  # pyright: ignore[reportFunctionMemberAccess]


# ------------------------------------------------------------------------------------- the store


def test_what_was_put_is_found_until_a_byte_changes(tmp_path: Path) -> None:
    store = CodeStore(tmp_path / "not" / "there")
    assert store.get("a") is None
    store.put("a", b"code")
    store.put("b", b"")
    assert (store.get("a"), store.get("b"), store.get("c")) == (b"code", b"", None)
    for path in store.folder.iterdir():
        whole = path.read_bytes()
        for broken in (b"", whole[:-1], whole + b"x", whole[:40], b"\0" + whole[1:]):
            path.write_bytes(broken)
            if broken != whole:
                assert store.get("a") in (None, b"code")
    assert store.get("a") is None
    assert store.get("b") is None


def test_a_folder_that_cannot_be_is_as_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = CodeStore(tmp_path / "file" / "folder")
    store.put("a", b"code")
    assert store.get("a") is None


def test_a_disk_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiled_code.os, "replace", full)
    CodeStore(tmp_path).put("a", b"code")
    assert list(tmp_path.iterdir()) == []


def test_many_writers_and_readers_see_whole_pieces(tmp_path: Path) -> None:
    store = CodeStore(tmp_path)
    pieces = [bytes([i]) * 20_000 for i in range(8)]

    def work(piece: bytes) -> bool:
        store.put("a", piece)
        return store.get("a") in pieces

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, pieces * 10))
    assert len(list(tmp_path.iterdir())) == 1


def test_what_nobody_uses_goes_and_what_is_used_stays(tmp_path: Path) -> None:
    store = CodeStore(tmp_path)
    store.put("old", b"code")
    store.put("used", b"code")
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0))
    assert store.get("used") == b"code"
    compiled_code._remove_unused.cache_clear()  # another process
    store.put("new", b"code")
    assert [store.get(key) is None for key in ("old", "used", "new")] == [True, False, False]


def test_code_of_another_processor_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    CodeStore(tmp_path).put("a", b"code")
    monkeypatch.setattr(compiled_code, "_machine", lambda: "another")
    assert CodeStore(tmp_path).get("a") is None


@pytest.mark.parametrize(
    ("system", "variables", "place"),
    [
        ("linux", {}, "home/.cache/fluidkv/jax"),
        ("linux", {"XDG_CACHE_HOME": "/caches"}, "/caches/fluidkv/jax"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "home/.cache/fluidkv/jax"),
        ("darwin", {"XDG_CACHE_HOME": "/caches"}, "home/Library/Caches/fluidkv/jax"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/fluidkv/jax"),
        ("linux", {VARIABLE: "/mine", "XDG_CACHE_HOME": "/caches"}, "/mine/jax"),
        ("linux", {VARIABLE: "~/mine"}, "home/mine/jax"),
    ],
)
def test_the_place_is_the_users_folder_for_caches(
    system: str,
    variables: dict[str, str],
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (VARIABLE, "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(tmp_path / "home"), **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(compiled_code, "sys", SimpleNamespace(platform=system))
    assert code_store("jax") == CodeStore(tmp_path / place)


@pytest.mark.parametrize("word", [OFF, "OFF"])
def test_the_variable_turns_it_off(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, word)
    assert code_store("jax") is None


def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in (VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(compiled_code.Path, "home", nobody)
    assert code_store("jax") is None


# ------------------------------------------------------------------------------------ JAX, Numba


@pytest.mark.usefixtures("folder")
def test_what_jax_compiled_for_us_is_found_again() -> None:
    assert "cache_hits" not in _compile(1.0)
    assert "cache_hits" in _compile(1.0)
    assert "cache_hits" not in _compile(2.0)


def test_broken_and_forbidden_code_is_compiled_again_without_a_word(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (_compile(1.0), _hits(np.arange(3.0))) is not None
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-7])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "cache_hits" not in _compile(1.0)
        assert _hits(np.arange(3.0)) == 0
        monkeypatch.setenv(VARIABLE, str(folder / "jax" / "x" / "y"))
        (folder / "jax" / "x").touch()
        assert "cache_hits" not in _compile(1.0)
        assert _hits(np.arange(3.0)) == 0


def test_what_the_user_compiles_is_not_kept_by_us(folder: Path, tmp_path: Path) -> None:
    before = dict(jax.config.values)
    _compile(1.0)
    ours = sorted(folder.rglob("*"))
    jax.jit(lambda x: jnp.cos(x) + 3)(1.0)
    assert sorted(folder.rglob("*")) == ours
    assert dict(jax.config.values) == before
    jax.config.update(_SETTING, str(tmp_path / "theirs"))  # later than our first compilation
    with jax.threefry_partitionable(True):
        _compile(2.0)
    assert sorted(folder.rglob("*")) == ours


def test_a_cache_that_the_user_has_set_gets_everything(folder: Path, tmp_path: Path) -> None:
    jax.config.update(_SETTING, str(tmp_path / "theirs"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    try:
        _compile(1.0)
    finally:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)
    assert list((tmp_path / "theirs").iterdir())
    assert not (folder / "jax").exists()


def test_blocks_within_blocks_and_in_threads_leave_jax_as_it_was(folder: Path) -> None:
    def block(depth: int) -> None:
        with in_float64():
            if depth:
                block(depth - 1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(block, [3] * 50))
    assert jax_code._jax_cache is not None  # this JAX has the inner names
    assert jax_code._jax_cache._cache is None
    assert jax_code._inside == 0


def test_the_code_of_a_kernel_is_found_for_the_same_types_and_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [_hits(np.arange(3.0)), _hits(np.arange(3.0)), _hits(np.arange(3))] == [0, 1, 0]
    assert len(list((folder / "kernels").iterdir())) == 2
    monkeypatch.setattr(kernels, "_contents", lambda _: "other files")
    assert _hits(np.arange(3.0)) == 0


def test_the_code_of_a_kernel_says_what_it_has_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule that two kernels share is a file of one of them."""
    inside, outside = tmp_path / "kernel", tmp_path / "shared" / "kernel" / "budget.py"
    inside.mkdir()
    outside.parent.mkdir(parents=True)
    spec_of = kernels.find_spec
    (inside / "loop.py").write_text("from fluidkv.serving.kernel.budget import pairs\n")
    contents = kernels._contents.__wrapped__
    as_it_is = contents(inside)
    elsewhere = SimpleNamespace(origin=str(outside))
    monkeypatch.setattr(
        kernels, "find_spec", lambda name: elsewhere if name.endswith(".budget") else spec_of(name)
    )
    outside.write_bytes(Path(budget.__file__).read_bytes())
    assert contents(inside) == as_it_is
    outside.write_text("another rule")
    assert contents(inside) != as_it_is


def test_what_a_kernel_has_through_others_and_constants_are_among_its_sources() -> None:
    sources = kernels._sources(Path(loop.__file__).parent)
    names = {"/".join(path.parts[-3:]) for path in sources}
    assert {"radix/kernel/leaves.py", "fluidkv/prefix/policies.py"} <= names


def test_a_kernel_in_no_folder_is_compiled_each_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "_contents", lambda _: "")
    assert _hits(np.arange(3.0)) == _hits(np.arange(3.0)) == 0
    assert not folder.exists()


@pytest.mark.thorough
def test_a_process_whose_disk_is_full_computes_on(tmp_path: Path) -> None:
    """Files may have no bytes at all there: each write fails as on a full disk."""
    code = f"""
        import resource, sys
        sys.dont_write_bytecode = True
        import numpy as np, jax
        from fluidkv.runs.precision import in_float64
        from tests.runs.test_compiled_code import _twice
        from fluidkv.runs.kernels import kernel
        jax.config.update({_SETTING!r}, None)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        with in_float64():
            jax.jit(lambda x: x + 1)(1.0)
        assert kernel(_twice)(np.arange(3.0)) == 6.0
    """
    subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env=os.environ | {VARIABLE: str(tmp_path)},
        check=True,
    )
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["jax", "kernels"]
