"""Which versions computed something: of this package, and of what its numbers depend on."""

from importlib.metadata import PackageNotFoundError, version

from fluidkv import __version__

# zarr: not of the numbers, but of the bytes of the store
LIBRARIES = ("jax", "jaxlib", "numba", "numpy", "python-flint", "scipy", "zarr")


def versions() -> dict[str, str]:
    """Library -> version; a result is taken up again only under the same ones.

    Examples:
        >>> from fluidkv.sweeps.computed_by import versions
        >>> list(versions())[:4], versions()["fluidkv"] == fk.__version__
        (['fluidkv', 'jax', 'jaxlib', 'numba'], True)
    """
    return {"fluidkv": __version__} | {name: _installed(name) for name in LIBRARIES}


def differing(one: dict[str, str], other: dict[str, str]) -> list[str]:
    """Each library that differs, as in "jax 0.10.1 and 0.10.2"."""
    names = dict.fromkeys([*one, *other])
    return [
        f"{name} {one.get(name, 'none')} and {other.get(name, 'none')}"
        for name in names
        if one.get(name) != other.get(name)
    ]


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
