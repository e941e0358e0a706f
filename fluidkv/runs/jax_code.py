"""What JAX compiles for the package is kept between processes; what it compiles for others is not.

JAX has a cache of its own, which one setting turns on for all code of a process, for ever once it
was used; it writes files in place and warns of those that are broken. So the package puts a store
in its place while it computes, and takes it away afterwards. Whoever has set JAX's own cache, by
`JAX_COMPILATION_CACHE_DIR` or `jax.config`, has everything there.

This is the one place that uses inner names of JAX. A version that lacks them compiles every time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import jax

from fluidkv.runs.compiled_code import CodeStore, code_store

_jax_cache: Any = None
try:
    from jax._src import compilation_cache
    from jax._src.config import persistent_cache_min_compile_time_secs as _least_seconds

    if hasattr(compilation_cache, "_cache"):
        _jax_cache = compilation_cache
except ImportError:
    _least_seconds: Any = None

_changing = Lock()
_inside = 0


class _Kept:
    """A store as JAX asks for one."""

    def __init__(self, store: CodeStore) -> None:
        self._store, self._path = store, store.folder
        self.get, self.put = store.get, store.put


@contextmanager
def kept_code() -> Iterator[None]:
    """What is compiled in this block is looked for, and put, in the package's own store."""
    store = None if _set_by_user() else code_store("jax")
    if store is None or _jax_cache is None:
        yield
        return
    _enter(store)
    try:
        with _least_seconds(0.0):  # many small ones are seconds together
            yield
    finally:
        _leave()


def _set_by_user() -> bool:
    return bool(jax.config.values["jax_compilation_cache_dir"])


def _enter(store: CodeStore) -> None:
    global _inside
    with _changing:
        _inside += 1
        if _jax_cache._cache is None:
            _jax_cache._cache = _Kept(store)


def _leave() -> None:
    global _inside
    with _changing:
        _inside -= 1
        if _inside == 0 and isinstance(_jax_cache._cache, _Kept):
            _jax_cache._cache = None
