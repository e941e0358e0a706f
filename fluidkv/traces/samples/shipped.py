"""A log that ships with the package, by name: `sample:vllm-rtx4090` stands for its folder.

Whatever takes a trace, a log folder or a file asks here first, so a sample is a source like any
other.
"""

from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.text import nearest

PREFIX = "sample:"

_HERE = Path(__file__).parent
_FOLDERS = {"vllm-rtx4090": _HERE / "vllm_rtx4090"}


def sample_names() -> tuple[str, ...]:
    """The samples there are, as they are written: `sample:` and a name.

    Examples:
        >>> from fluidkv.traces.samples.shipped import sample_names
        >>> sample_names()
        ('sample:vllm-rtx4090',)
        >>> [len(fk.read_trace(name).trace.input_lengths) for name in sample_names()]
        [300]
    """
    return tuple(PREFIX + name for name in _FOLDERS)


def sample_path(source: Path | str) -> Path:
    """Where a source lies: the folder of a sample, and any other source as it is.

    A file or folder that is really called `sample:...` is meant before a sample is.

    Raises:
        InputError: `sample:` with a name that no sample has, where there is no such file either.

    Examples:
        >>> from fluidkv.traces import sample_path
        >>> sorted(path.name for path in sample_path("sample:vllm-rtx4090").iterdir())
        ['LICENSE', 'meta.json', 'requests.jsonl', 'timeseries.csv']
        >>> sample_path("mine.csv").name
        'mine.csv'
    """
    path = Path(source)
    text = str(source)
    if not text.startswith(PREFIX) or _is_there(path):
        return path
    folder = _FOLDERS.get(text.removeprefix(PREFIX).rstrip("/"))
    if folder is None:
        raise InputError("source", text, f"a file, or {nearest(text, sample_names())}")
    return folder


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False
