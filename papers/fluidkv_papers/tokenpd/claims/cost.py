"""Token-PD, (1): what a token costs, beside section 1's number and the models that there are."""

from itertools import product

from fluidkv.ledger import Origin, Range
from fluidkv.serving.machines.kv_bytes import token_bytes
from fluidkv_papers.tokenpd.instances.models import MODELS, Model
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements(origin=Origin.READING)

_NAMED = Range("six published models", lambda: MODELS)
_SHAPES = Range(
    "layers, heads and head sizes of 1 to 8, each head with keys and values of its own",
    lambda: product(range(1, 9), repeat=3),
)


def _values(layers: int, kv_heads: int, head_size: int) -> int:
    return token_bytes(layers, kv_heads, head_size, bytes_per_value=1)


@CLAIMS.fails("equation-1.all-layers", "(1), section 3", over=_NAMED)
def _all_layers(model: Model) -> bool | str:
    """With d the hidden size, 2 d h is the number of values in a token's keys and values.

    Ours: they are 2 d a layer, or less where heads share keys and values
    Paper: c = 2 d h, hidden size d and h attention heads
    Note: The number of layers is not in (1), and heads divide the hidden size: they do not multiply
    it.
    Holds: equation-1.when, equation-1.one-layer"""
    return model.printed == model.values or (
        f"{model.name}: 2 d h = {model.printed:,}, its {model.layers} layers have {model.values:,}"
    )


@CLAIMS.claim(
    "equation-1.as-many-layers-as-heads",
    "(1), section 3",
    over=_NAMED.where(
        "those with as many layers as heads, and no shared keys",
        lambda m: m.layers == m.heads == m.kv_heads,
    ),
)
def _coincide(model: Model) -> bool:
    """2 d h is that number for Llama 7B and 13B, which have as many layers as heads.

    Ours: {count} models, 32 and 40 of each
    Paper: c = 2 d h"""
    return model.printed == model.values


@CLAIMS.claim("equation-1.when", "(1), section 3", over=_SHAPES)
def _when(layers: int, heads: int, head_size: int) -> bool | str:
    """Where each head has keys and values of its own, 2 d h is the number of all layers' values
    exactly for as many layers as heads.

    Paper: c = 2 d h
    Note: Proof. d = h d_head, so all layers have 2 L h d_head = 2 L d values."""
    equal = 2 * heads * head_size * heads == _values(layers, heads, head_size)
    return equal == (layers == heads) or f"L = {layers}, h = {heads}, d_head = {head_size}"


@CLAIMS.claim("equation-1.one-layer", "(1), section 3", over=_SHAPES)
def _one_layer(layers: int, heads: int, head_size: int) -> bool | str:
    """With d the size of a head, 2 d h is the number of values in one layer.

    Paper: c = 2 d h
    Note: Then section 1's 2 d has d the hidden size: a layer's too. (1) calls d the hidden size."""
    a_layer = _values(layers, heads, head_size) // layers
    return a_layer == 2 * head_size * heads or f"{heads} heads of {head_size}: {a_layer}"


@CLAIMS.fails("section-1.two-d", "section 1, with (1)", over=_SHAPES)
def _two_d(layers: int, heads: int, head_size: int) -> bool | str:
    """With one d, the cost of section 1 is that of (1).

    Ours: 2 d and 2 d h are the same for a single head alone
    Paper: 2 d floating-point numbers; c = 2 d h (FP16 values)
    Note: They agree if d is the hidden size here and the size of a head there.
    Holds: equation-1.one-layer"""
    d = heads * head_size
    return 2 * d == 2 * d * heads or f"d = {d}, h = {heads}: {2 * d} and {2 * d * heads}"


@CLAIMS.claim(
    "section-2.order",
    "section 2, KV cache mechanics",
    over=lambda: product(range(1, 65), range(1, 9)),
)
def _order(length: int, width: int) -> bool | str:
    """What is cached grows in proportion to the length and the hidden size.

    Checked: lengths of 1 to 64 tokens, hidden sizes of 1 to 8
    Paper: from O(d) to O(L d), where L is the generated length
    Note: Length is that of prompt and output: the prompt's tokens are cached, too. The constant is
    twice the number of layers."""
    layers = 3
    held = sum(_values(layers, width, 1) for _ in range(length))
    return held == 2 * layers * length * width or f"{length} tokens of width {width}: {held}"
