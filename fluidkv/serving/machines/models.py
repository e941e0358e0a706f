"""Models that people run: the shape that their published configuration states, and what follows.

Bytes of a token, weights that a step reads and operations of a prefill token are sums over the
matrices; norms and biases are left out of them, a thousandth or less. The count of parameters is
the published one, to four digits, and `tests/serving/machines` holds the sums against it.

Source: the `config.json` and model card that each model is published with, by the name given.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.serving.machines.gpus import rows_of
from fluidkv.serving.machines.kv_bytes import token_bytes
from fluidkv.text import nearest


@dataclass(frozen=True)
class Model(Record):
    """A decoder, as far as its memory and its times depend on it.

    Args:
        name: as commands take it.
        source: where it is published.
        parameters: P, all weights, as published, to four digits.
        layers, width, heads: L, the hidden size, heads that ask.
        kv_heads: heads with keys and values of their own.
        head_size: values of a key; heads times this is what attention goes over.
        inner: width of the feed-forward part, of one expert where there are several.
        words: of the vocabulary.
        tied: whether input and output share one embedding.
        matrices: of the feed-forward part: 3 where it is gated, else 2.
        experts, active: of each layer, and those that a token goes through.
        shared: inner width of what every token goes through beside its experts; 0: nothing.
        dense, dense_inner: layers without experts, of a model that has them, and their inner width.
        q_rank, kv_rank, rope_size, value_size: of latent attention, where one vector of
            `kv_rank + rope_size` values is cached a token and layer, whatever the heads;
            `head_size` is the part of a key without positions. 0: those of heads are cached.
        window, windowed: layers that keep only the last `window` tokens, and how many are so.
        weight_bytes: of a weight: 2 at 16 bits, 1 at 8, with scales 0.5625 at 4.
        other_bytes: of a weight that is in no expert, of a model that has several; None: the same.
        value_bytes: of a cached value.
        longest: positions that it was made for; None: not stated here.

    Examples:
        >>> from fluidkv.serving.machines.models import Model
        >>> sizes = {"layers": 16, "width": 2048, "heads": 32, "kv_heads": 8, "head_size": 64}
        >>> model = Model("tiny", "made up", 1.24e9, **sizes, inner=8192, words=128_256, tied=True)
        >>> model.kv_bytes  # 2 x 16 x 8 x 64 values of two bytes
        32768
        >>> round(model.summed / 1e9, 2), round(model.computed / 1e9, 2)
        (1.24, 0.97)
    """

    name: str
    source: str
    parameters: float
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_size: int
    inner: int
    words: int
    tied: bool = False
    matrices: int = 3
    experts: int = 1
    active: int = 1
    shared: int = 0
    dense: int = 0
    dense_inner: int = 0
    q_rank: int = 0
    kv_rank: int = 0
    rope_size: int = 0
    value_size: int = 0
    window: int | None = None
    windowed: int = 0
    weight_bytes: float = 2.0
    other_bytes: float | None = None
    value_bytes: int = 2
    longest: int | None = None

    @property
    def kv_bytes(self) -> int:
        """Of a token's keys and values, all layers, those that forget included."""
        if self.kv_rank:
            return self.layers * (self.kv_rank + self.rope_size) * self.value_bytes
        return token_bytes(
            self.layers, self.kv_heads, self.head_size, bytes_per_value=self.value_bytes
        )

    @property
    def attended(self) -> int:
        """Numbers that attention goes over for each token and layer: h."""
        if self.kv_rank:  # keys are longer than values
            return self.heads * (self.head_size + self.rope_size + self.value_size) // 2
        return self.heads * self.head_size

    @property
    def even(self) -> float:
        """The length at which attention costs as much as the weights, tokens."""
        return self.parameters / (self.layers * self.attended)

    @property
    def embedding(self) -> int:
        """Weights of one embedding."""
        return self.words * self.width

    @property
    def per_expert(self) -> int:
        """Weights of one expert in one layer; of the whole feed-forward part where it is one."""
        return self.matrices * self.width * self.inner

    @property
    def attention(self) -> int:
        """Weights of one layer around attention: queries, keys, values, output."""
        if self.kv_rank:
            asked = self.q_rank * (self.width + self.heads * (self.head_size + self.rope_size))
            latent = self.width * (self.kv_rank + self.rope_size)
            latent += self.kv_rank * self.heads * (self.head_size + self.value_size)
            return asked + latent + self.heads * self.value_size * self.width
        return 2 * self.width * self.attended + 2 * self.width * self.kv_heads * self.head_size

    @property
    def router(self) -> int:
        """Weights of one layer that choose experts."""
        return self.width * self.experts if self.experts > 1 else 0

    @property
    def computed(self) -> int:
        """Weights in the layers that one token is multiplied with; of experts the active ones."""
        return self.beside_experts + (self.layers - self.dense) * self.active * self.per_expert

    @property
    def beside_experts(self) -> int:
        """Weights in the layers that are in no expert; of a model without, none feed forward."""
        each = self.router + self.matrices * self.width * self.shared
        return (
            self.layers * self.attention
            + (self.layers - self.dense) * each
            + self.dense * self.matrices * self.width * self.dense_inner
        )

    @property
    def in_experts(self) -> int:
        """Weights in all experts of all layers; of the feed-forward parts where there are none."""
        return (self.layers - self.dense) * self.experts * self.per_expert

    @property
    def in_layers(self) -> int:
        """Weights in the layers."""
        return self.beside_experts + self.in_experts

    def read(self, tokens: float) -> float:
        """Weights that a step with so many tokens reads: layers and the output's embedding.

        Of E experts of which a token goes through A, B tokens that choose at random leave
        (1 - A/E)^B unread. Of the input's embedding a few rows are read: nothing.
        """
        unread = (1 - self.active / self.experts) ** tokens if self.experts > 1 else 0.0
        return self.beside_experts + (1 - unread) * self.in_experts + self.embedding

    @property
    def summed(self) -> int:
        """All matrices and embeddings: `parameters` less norms, biases and positions."""
        return self.in_layers + (1 if self.tied else 2) * self.embedding


@cache
def known_models() -> Mapping[str, Model]:
    """All that have a name here: `models.csv`, whose columns are the fields of `Model`.

    Examples:
        >>> from fluidkv.serving.machines.models import known_models
        >>> [name for name, model in known_models().items() if model.experts > 1]
        ['mixtral-8x7b', 'qwen3-30b-a3b', 'gpt-oss-20b', 'gpt-oss-120b', 'qwen3-235b-a22b',...]
    """
    return MappingProxyType({row["name"]: _model(row) for row in rows_of("models.csv")})


def model_named(name: str) -> Model:
    """A model by name, whether as here or as its hub has it: "Qwen/Qwen3-4B", "qwen3-4b".

    What only says how it was trained or stored ("-Instruct", "-2507", "-hf") does not count. The
    precision of the weights stands behind it: `-fp8`, `-nvfp4` (or `-fp4`), `-int4`, `-bf16`;
    none: as published. At 4 bits it is the experts' alone, where a model has some. Keys and values
    have 16 bits whatever the weights have, unless `-kv8` says otherwise.

    Raises:
        InputError: another name, with those near it; a model with layers that keep a state rather
            than tokens.

    Examples:
        >>> from fluidkv.serving.machines.models import model_named
        >>> model_named("Qwen/Qwen3-4B-Instruct-2507").name
        'qwen3-4b'
        >>> model_named("qwen3-4b-fp8").weight_bytes, model_named("qwen3-4b-fp8-kv8").value_bytes
        (1.0, 1)
    """
    plain, stored, kv8 = without_storage(name)
    if plain not in known_models():
        if keeps_states(plain):
            raise InputError("model", name, f"a model whose layers all keep tokens: {_STATE}")
        raise InputError("model", name, nearest(plain, known_models()))
    model = known_models()[plain]
    if stored:
        model = _stored(replace(model, name=f"{plain}{stored}"), STORED[stored])
    return replace(model, name=f"{model.name}-kv8", value_bytes=1) if kv8 else model


def without_storage(name: str) -> tuple[str, str, bool]:
    """(a model's name as a table here would have it, how its weights are stored, 8-bit cache).

    Examples:
        >>> from fluidkv.serving.machines.models import without_storage
        >>> without_storage("Qwen/Qwen3-4B-Instruct-2507-FP8-kv8")
        ('qwen3-4b', '-fp8', True)
    """
    plain = name.strip().lower().rsplit("/", 1)[-1] if isinstance(name, str) else ""
    plain, kv8 = plain.removesuffix("-kv8"), plain.endswith("-kv8")
    stored = next((end for end in STORED if plain.endswith(end)), "")
    plain = plain.removesuffix(stored).replace("-instruct", "").removeprefix("meta-")
    for end in _ENDINGS:
        if plain not in known_models():  # Mistral's v0.1 is another model than v0.3
            plain = plain.removesuffix(end)
    return plain, stored, kv8


def keeps_states(plain: str) -> bool:
    """Whether a model of that name has layers with a state for each request.

    Examples:
        >>> from fluidkv.serving.machines.models import keeps_states
        >>> keeps_states("qwen3-next-80b-a3b"), keeps_states("qwen3-4b")
        (True, False)
    """
    return plain.startswith(_STATES)


def kv_bytes_per_token(model: Model | str) -> int:
    """Bytes that a token more takes in the cache, all layers: 2 L n_kv d_head values.

    Raises:
        InputError: an unknown name; a model of which some layers keep a window only, where how
            much fits is no number of tokens times a constant.

    Examples:
        >>> from fluidkv.serving.machines.models import kv_bytes_per_token
        >>> kv_bytes_per_token("llama-3-8b"), kv_bytes_per_token("llama-2-7b")
        (131072, 524288)
    """
    found = model_named(model) if isinstance(model, str) else model
    if found.windowed:
        allowed = (
            f"a model whose layers all keep every token: {found.windowed} of the {found.layers} "
            f"layers of {found.name} keep the last {found.window} only; give tokens"
        )
        raise InputError("model", found.name, allowed)
    return found.kv_bytes


def stored_bytes(model: Model) -> float:
    """Bytes that all weights take; embeddings at 16 bits."""
    other = model.weight_bytes if model.other_bytes is None else model.other_bytes
    embeddings = 2 * (model.parameters - model.in_layers)
    return model.in_experts * model.weight_bytes + model.beside_experts * other + embeddings


_ENDINGS = ("-2507", "-0324", "-0528", "-thinking", "-chat", "-base", "-hf", "-v0.1", "-v0.3")
_ENDINGS = (*_ENDINGS, "-it", "-pt")
STORED = {"-fp8": 8.0, "-nvfp4": 4.5, "-fp4": 4.5, "-int4": 4.5, "-bf16": 16.0}
"""Bits of a weight by the end of a name, those of the scales included."""

_STATES = (
    "qwen3.5", "qwen3.6", "qwen3-next", "qwen3-coder-next", "mamba", "falcon-mamba", "falcon-h1",
    "falcon3-mamba", "jamba", "ai21-jamba", "nemotron-h", "nvidia-nemotron-nano", "nemotron-nano",
    "nvidia-nemotron-3", "granite-4", "zamba", "bamba", "kimi-linear", "minimax-m1",
    "minimax-text", "lfm2", "rwkv", "plamo-2", "recurrentgemma", "olmo-hybrid",
)  # fmt: skip
_STATE = (
    "it has layers of linear attention or state spaces, which keep a state for each request; give "
    "tokens as the server counts them, and fit a clock to a log of yours or give D0:D1:D2"
)


def _stored(model: Model, bits: float) -> Model:
    """With weights of so many bits; of 4 in experts alone, where there are some."""
    apart = bits < 8 and model.experts > 1
    return replace(model, weight_bytes=bits / 8, other_bytes=2.0 if apart else None)


def _model(row: Mapping[str, str]) -> Model:
    whole = ("layers", "width", "heads", "kv_heads", "head_size", "inner", "words")
    whole = (*whole, "matrices", "experts", "active", "windowed", "shared", "dense", "dense_inner")
    whole = (*whole, "q_rank", "kv_rank", "rope_size", "value_size")
    model = Model(
        name=row["name"],
        source=row["source"],
        parameters=float(row["parameters"] or 0),
        tied=row["tied"] == "yes",
        window=int(row["window"]) if row["window"] else None,
        longest=int(row["longest"]),
        **{field: int(row[field]) for field in whole},
    )
    # Of a part of what was published, such as a text model beside its eyes, the sum is taken.
    model = model if model.parameters else replace(model, parameters=float(model.summed))
    return model if row["bits"] == "16" else _stored(model, float(row["bits"]))
