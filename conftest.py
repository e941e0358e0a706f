"""Rules that hold in every test: strict JAX, compiled code shared, outside data optional.

Which checks run, and on which cases, is in `tests.cases`.
"""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from fluidkv.cli import progress

if TYPE_CHECKING:
    from fluidkv.answers.replay.result import Replay

pytest_plugins = ["tests.cases"]

ROOT = Path(__file__).parent

# What one process has compiled, the others, their children and the next run need not compile.
COMPILED = {
    "JAX_COMPILATION_CACHE_DIR": str(ROOT / "build" / "compiled"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.3",
    "FLUIDKV_CACHE": str(ROOT / "build" / "compiled"),  # of kernels; JAX's own wins for JAX
}
os.environ |= COMPILED  # of children; here JAX has read its own already
for name, value in COMPILED.items():
    if name.startswith("JAX"):
        jax.config.update(name.lower(), value if name.endswith("DIR") else float(value))

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


def children_hear_signals() -> None:
    """What ignores a signal hands that on to its children: a shell's job with `&`, or `nohup`.

    A signal that is handled, by whatever, is to a child as if nobody had touched it.
    """
    for name in ("SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def pytest_configure(config: pytest.Config) -> None:
    children_hear_signals()
    progress.FIRST_S = 1e6  # however slow the machine is; tests/cli/test_progress.py looks at that


class OneProcessAFile(LoadFileScheduling):
    """Files in their order, each on one process; the ledger, by far the longest, paper by paper."""

    def _split_scope(self, nodeid: str) -> str:
        claim = re.match(r"(tests/papers/test_ledger\.py)::test_outcome\w*\[(\w+)", nodeid)
        return "::".join(claim.groups()) if claim else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneProcessAFile | None:
    return OneProcessAFile(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture
def in_64_bits() -> Iterator[None]:
    """Doubles in JAX, as where the library computes."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True, scope="module")
def compiled_code_is_let_go() -> Iterator[None]:
    """Each compilation maps pages for ever; a process may hold 65,530 maps, then XLA crashes.

    What the next module may use again is kept until half of them are there.
    """
    yield
    maps = Path("/proc/self/maps")
    if not maps.is_file() or maps.read_bytes().count(b"\n") > 30_000:
        jax.clear_caches()


# What tests read of the real traces. One that is missing skips them all: a test that picked what
# it needs would pass over a misspelt name in silence.
_SGLANG = ("decode_log.csv", "events.jsonl", "meta.json", "requests.jsonl")
REAL_TRACES = (
    "azure_llm_2023_code.csv",
    "azure_llm_2023_conv.csv",
    "mooncake_conversation.jsonl",
    "mooncake_synthetic.jsonl",
    "one_class_engines.json",
    *(f"sglang_rtx4090_qwen3_4b/{name}" for name in _SGLANG),
    "vllm_rtx4090_llama31_8b/meta.json",
    "vllm_rtx4090_llama31_8b/requests.jsonl",
    "vllm_rtx4090_llama31_8b/timeseries.csv",
)


@pytest.fixture(scope="session")
def traces_dir() -> Path:
    """The folder of real traces; the test skips where one of them is missing."""
    folder = Path(os.environ.get("FLUIDKV_TRACES") or ROOT / ".." / "shared" / "traces")
    missing = [name for name in REAL_TRACES if not (folder / name).is_file()]
    if missing:
        several = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        pytest.skip(f"no real traces: FLUIDKV_TRACES names no folder with {missing[0]}{several}")
    return folder


@pytest.fixture(scope="session")
def unseen_dir() -> Path:
    """The logs of `fluidkv_papers.measured.instances.unseen`; skips where they are missing."""
    folder = os.environ.get("FLUIDKV_UNSEEN")
    if not folder:
        pytest.skip("no such logs: FLUIDKV_UNSEEN names no folder")
    return Path(folder)


@pytest.fixture(scope="session")
def sglang_dir(traces_dir: Path) -> Path:
    """The measured SGLang run among the real traces."""
    return traces_dir / "sglang_rtx4090_qwen3_4b"


@pytest.fixture(scope="session")
def sglang_replay(sglang_dir: Path) -> "Replay":
    """The measured SGLang run, predicted from the first half of its log: seconds, so once."""
    from fluidkv.answers import replay_log

    return replay_log(sglang_dir)
