"""An option that a command does not have: one line with the one that may be meant."""

from typer.exceptions import TyperException

from fluidkv.text import near_names

# How others call it -> how it is called here: of these the first that the command has is meant.
_ELSEWHERE = {
    "--concurrency": ("--clients",),
    "--file": ("SOURCE",),
    "--input": ("SOURCE",),
    "--kv-tokens": ("--capacity",),
    "--log": ("SOURCE",),
    "--max-concurrency": ("--clients",),
    "--num-prompts": ("--requests",),
    "--qps": ("--rate", "--scale-rate"),
    "--request-rate": ("--rate", "--scale-rate"),
    "--runs": ("--seeds",),
    "--seeds": ("--runs",),
    "--tokens": ("--capacity",),
    "--trace": ("SOURCE",),
    "--workload": ("SOURCE", "--preset", "--class"),
}


def unknown_option(error: TyperException) -> str | None:
    """What to say of an option that is not there; None for any other error."""
    name, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if name is None or context is None:
        return None
    known: list[str] = []
    for parameter in context.command.params:
        is_argument = parameter.param_type_name == "argument"
        known += [parameter.name.upper()] if is_argument else parameter.opts
    meant = [each for each in _ELSEWHERE.get(name, ()) if each in known]
    options = [each for each in known if each.startswith("--")]
    near = meant[:1] or near_names(name, options)
    text = f"perhaps {' or '.join(near)}" if near else f"see {context.command_path} --help"
    return f"{name}: no such option; {text}"
