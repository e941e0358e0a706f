"""A folder for what a benchmark writes, which goes with it."""

from tempfile import TemporaryDirectory


def in_a_folder() -> TemporaryDirectory:
    """For a block; what cannot be removed then is left to the system."""
    return TemporaryDirectory(prefix="fluidkv-", ignore_cleanup_errors=True)
