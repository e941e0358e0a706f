"""`fluidkv price` as it is asked: what its options make, and which of them go together."""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.price import options as opt
from fluidkv.answers.price.result import PriceAnswer
from fluidkv.errors import InputError
from fluidkv.questions.options import Made, as_options, checked, exactly_one, only_with, seed_of
from fluidkv.text import nearest

if TYPE_CHECKING:
    from fluidkv.answers.price.brought import Brought
    from fluidkv.tokenpd.attention.weights import Attention
    from fluidkv.tokenpd.eviction.policy import EvictionPolicy
    from fluidkv.tokenpd.pricing import Pricing
    from fluidkv.tokenpd.seen import Predictor

_MOST_WEIGHTS = 2**28
"""Of generated attention; a gigabyte, and a run takes several times that."""
_PREDICTS = "average"
"""Who predicts where nobody is named: an engine can do it, and nothing is trained."""


def attention_by(
    source: Annotated[str | None, opt.SOURCE] = None,
    generator: Annotated[str | None, opt.GENERATOR] = None,
    requests: Annotated[int | None, opt.REQUESTS] = None,
    length: Annotated[opt.Sizes | None, opt.LENGTH] = None,
    prompt: Annotated[opt.Sizes | None, opt.PROMPT] = None,
    gap: Annotated[Fraction | None, opt.GAP] = None,
    axes: Annotated[str | None, opt.AXES] = None,
    over: Annotated[str | None, opt.OVER] = None,
    tensors: Annotated[str | None, opt.TENSORS] = None,
    kv_heads: Annotated[int | None, opt.KV_HEADS] = None,
    renormalise: Annotated[bool, opt.RENORMALISE] = False,
    seeds: Annotated[int | None, opt.SEEDS] = None,
    seed: Annotated[int, seed_of("the first run")] = 0,
) -> "Brought":
    """Weights of a generator or of a file; what was not said is as it is usual."""
    from fluidkv.answers.price.brought import attention_of, generated_attention
    from fluidkv.tokenpd.attention.generators.presets import generators

    if generator is None:
        if prompt is not None and prompt.least < prompt.most:
            raise InputError("--prompt", str(prompt), "one number of tokens")
        only_with("--kv-heads", kv_heads, "--over heads", over == "heads")
        file = {"axes": axes, "over": over, "tensors": tensors, "kv_heads": kv_heads}
        file["prompt"] = None if prompt is None else prompt.least
        with as_options({"length": "SOURCE, length"}):
            return attention_of(source or "", renormalise=renormalise, **_said(file))
    if generator not in generators():
        raise InputError("generator", generator, nearest(generator, generators()))
    longest = 1 if length is None else length.most
    if (requests or 1) * longest**2 > _MOST_WEIGHTS:
        said = f"{requests or 1:,} of {longest:,} tokens"
        allowed = f"fewer or shorter: requests times --length squared is at most {_MOST_WEIGHTS:,}"
        raise InputError("--requests", said, allowed)
    drawn: dict[str, Any] = {"requests": requests, "seeds": seeds}
    drawn["gap"] = None if gap is None else float(gap)
    drawn["prompt"] = None if prompt is None else prompt.plain
    drawn["length"] = None if length is None else length.plain
    return generated_attention(generator, seed=seed, **_said(drawn))


def _pricing_by(
    eta: Annotated[Fraction | None, opt.ETA] = None,
    start_price: Annotated[Fraction | None, opt.START_PRICE] = None,
    objective: Annotated[str, opt.OBJECTIVE] = "rule",
    risk_aversion: Annotated[Fraction | None, opt.RISK_AVERSION] = None,
    penalty: Annotated[Fraction | None, opt.PENALTY] = None,
) -> "Callable[[Attention], Pricing]":
    """The rule for the weights of the first run."""
    from fluidkv.answers.price.rule import usual_pricing
    from fluidkv.tokenpd.objective import Objective

    numbers = {"step": eta, "start": start_price}
    numbers |= {"risk_aversion": risk_aversion, "penalty": penalty}
    said = {name: float(value) for name, value in _said(numbers).items()}
    return partial(usual_pricing, objective=Objective(objective), **said)


def _said(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


@checked
def price_tokens(
    attention: Annotated[
        "Attention | Brought | Iterable[Attention]", Made(attention_by, doing="reading attention")
    ],
    budget: Annotated["int | Fraction | opt.Memory", opt.BUDGET],
    *,
    policies: Annotated["Iterable[str | EvictionPolicy] | None", opt.POLICY] = None,
    predictor: Annotated["str | Predictor", opt.PREDICTOR] = _PREDICTS,
    pricing: Annotated["Pricing | Callable[[Attention], Pricing] | None", Made(_pricing_by)] = None,
    delay: Annotated[int, opt.DELAY] = 0,
    comes_back: Annotated[bool, opt.COMES_BACK] = False,
    kv_bytes: Annotated[int | None, opt.KV_BYTES] = None,
    seed: Annotated[int, seed_of("the first run")] = 0,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> PriceAnswer:
    """Which cached tokens to keep, what is lost, and what a price on memory does.

    Runs every eviction policy on the same attention weights, yours or generated:
    attention mass kept, error of the output, tokens used, regret. A policy gives
    each request its share of the budget, pools all tokens, or prices them, as
    Token-PD does; the page says how much pooling brings, and how much the price.

    Args:
        attention: weights; or those of several runs, with other requests each, as of
            `generated_attention`.
        pricing: of the policies with a price, which set its budget reading; None: `usual_pricing`
            of the first run.
        on_progress: told how many runs are done, of how many as far as is known, and what.

    Raises:
        InputError: a budget below one token; an unknown name; a policy named twice or none; no
            attention, or no row after a prompt; what `evict` refuses.

    Examples:
        >>> from fluidkv.answers.price.brought import generated_attention
        >>> small = generated_attention("uneven", requests=3, prompt=2, length=6, seeds=2)
        >>> found = fk.price_tokens(small, 5, policies=["return", "token-pd-hard"])
        >>> {each.name: round(each.mean, 2) for each in found.kept}
        {'return': 0.91, 'token-pd-hard': 0.93}
    """
    from fluidkv.answers.price.study import kept_by_policies

    of_file = {"length": "SOURCE, length"} if getattr(attention, "read", "") else {}
    with as_options(of_file):
        return kept_by_policies(
            attention,
            budget.budget if isinstance(budget, opt.Memory) else budget,
            policies=policies,
            predictor=predictor,
            pricing=pricing,
            delay=delay,
            comes_back=comes_back,
            kv_bytes=kv_bytes,
            seed=seed,
            on_progress=on_progress,
        )


def check(given: Mapping[str, Any]) -> None:
    """Refuse, before anything is read or drawn, names that nobody has, and options that mean
    nothing where they stand: of another source, or that none of the policies looks at.

    Args:
        given: key -> value of every option.
    """
    exactly_one(source=given["source"], generator=given["generator"])
    drawn, file = ("requests", "length", "gap", "seeds"), ("axes", "over", "tensors", "kv_heads")
    _needed(given, drawn, "--generator", given["generator"])
    _needed(given, (*file, "renormalise"), "SOURCE", given["source"])
    policies = given["policy"] or ()
    _check_names(given["predictor"], policies)
    weighed = given["objective"] != "rule"
    _needed(given, ("penalty",), "--objective utility, appendix or repaired", weighed)
    priced = any(each.startswith("token-pd") for each in policies) or not policies
    returns = priced or not {"return", "return-pooled"}.isdisjoint(policies)
    prices = ("eta", "start_price", *(["objective"] if weighed else []))
    _needed(given, prices, "a --policy token-pd, token-pd-hard or token-pd-heap", priced)
    told = [] if given["predictor"] == _PREDICTS else ["predictor"]
    predicted = (*told, "risk_aversion")
    _needed(given, predicted, "a --policy return, return-pooled or token-pd", returns)


def _needed(given: Mapping[str, Any], keys: Iterable[str], other: str, there: object) -> None:
    for key in keys:
        value = "given" if given[key] is True else given[key]
        only_with(f"--{key.replace('_', '-')}", None if value is False else value, other, there)


def _check_names(predictor: str, policies: Iterable[str]) -> None:
    from fluidkv.answers.price.forecasts import AT_WRITING, FORECASTS, MLP, predictor_of
    from fluidkv.tokenpd.eviction.named import policies as named_policies
    from fluidkv.tokenpd.pricing import Pricing
    from fluidkv.tokenpd.returns.averages import LastSeen

    name, _, rest = predictor.partition(":")
    if name.removesuffix(AT_WRITING) not in (*FORECASTS, MLP):
        raise InputError("--predictor", predictor, nearest(predictor, (*FORECASTS, MLP)))
    parameters = [part.partition("=")[0] for part in rest.split(",")]
    with as_options({each: f"--predictor {name}:{each}" for each in parameters if each}):
        predictor_of(predictor)
    known = named_policies(LastSeen(), Pricing(1))
    for each in policies:
        if each not in known:
            raise InputError("--policy", each, nearest(each, known))
