"""Requests that say what their prompts share, from traces and generators."""

import re
from typing import Any

import pytest

from fluidkv.answers import prompted_generator, prompted_trace
from fluidkv.errors import InputError
from fluidkv.prefix import content
from fluidkv.prefix.pieces import common, length
from fluidkv.traces import Trace


def _trace(**fields: Any) -> Trace:
    known: dict[str, Any] = {
        "input_lengths": (600, 600, 512),
        "decode_lengths": (5, 6, 7),
        "arrival_times_s": (0.0, 3.0, 1.0),
        "prefix_blocks": ((0, 1), (0, 2), (0,)),
        "prefix_block_size": 512,
        "name": "three",
    }
    return Trace(**(known | fields))


def test_a_trace_of_blocks_comes_in_order_of_arrival() -> None:
    found = prompted_trace(_trace())
    assert found.requests.arrival.tolist() == [0, 1, 3]
    assert found.requests.output_length.tolist() == [5, 7, 6]
    assert [length(prompt) for prompt in found.prompts.prompts] == [600, 512, 600]
    assert [length(output) for output in found.prompts.outputs] == [5, 7, 6]
    assert common(found.prompts.prompts[0], found.prompts.prompts[2]) == 512
    assert (found.block, found.name) == (512, "three")


def test_segments_are_what_they_say_and_other_outputs_are_private() -> None:
    trace = Trace(
        input_lengths=(10, 14),
        decode_lengths=(4, 3),
        arrival_times_s=(0.0, 1.0),
        prompt_segments=(((5, 10),), ((5, 10), (2, 4))),
        output_segments=(2, None),
    )
    found = prompted_trace(trace)
    first, second = found.prompts.prompts
    assert (first, second) == (content([[5, 10]]), content([[5, 10], [2, 4]]))
    assert common((*first, *found.prompts.outputs[0]), second) == 14
    assert found.prompts.outputs[1][0].segment not in (2, 5)


def test_a_generator_is_known_with_its_parameters() -> None:
    found = prompted_generator("gsp", seed=3, parameters={"groups": 2, "queries": 3})
    assert len(found.requests) == 6
    assert found.parameters is not None
    assert (found.parameters["groups"], found.parameters["ratio"]) == (2, 0.5)
    assert found.parameters["seed"] == 3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"prefix_blocks": ((0, 1), (0,), (0,))}, "prefix_blocks: got '1 ids in request 1'"),
        ({"arrival_times_s": None}, "source: got 'three'; allowed: a trace with times"),
    ],
)
def test_a_trace_that_does_not_say_is_one_line(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match="^" + re.escape(message)):
        prompted_trace(_trace(**fields))


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("lru", {}, "generator: got 'lru'; allowed: one of gsp, chats, documents, zipf, loop"),
        ("loop", {"groups": 3}, "groups: got 3; allowed: of loop: capacity, length, own, turns"),
        ("gsp", {"lengths": ("a", 3)}, "lengths: got 'a'; allowed: an integer from 1"),
    ],
)
def test_a_generator_refuses_in_one_line(
    name: str, parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match="^" + re.escape(message)):
        prompted_generator(name, parameters=parameters)
