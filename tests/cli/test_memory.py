"""KV memory as people write it, on every command that takes it."""

from fractions import Fraction

import pytest

from fluidkv.answers.memory import LoggedMemory, amount
from fluidkv.errors import InputError
from tests.cli.answered import refusal

LLAMA = 2 * 32 * 8 * 128 * 2  # bytes a token: layers, KV heads, head size, 16 bits


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("41408", 41_408),
        ("40k", 40_000),
        ("40 K", 40_000),
        ("2M", 2_000_000),
        ("1.5k", 1500),
        ("626/3", Fraction(626, 3)),
        ("2588b", 2588 * 16),
        ("2588 blocks", 2588 * 16),
        ("24GB", 24 * 10**9 // LLAMA),
        ("24 gb", 24 * 10**9 // LLAMA),
        ("24GiB", 24 * 2**30 // LLAMA),
        ("0.5MiB", 2**19 // LLAMA),
    ],
)
def test_a_text_is_so_many_tokens(text, tokens):
    memory = LoggedMemory(amount("--capacity", text), model="llama-3.1-8b")
    assert memory.tokens(16) == tokens


def test_bytes_are_said_with_what_a_token_takes():
    memory = LoggedMemory(amount("--capacity", "24GB"), kv_bytes=131_072)
    assert memory.tokens() == 183_105
    [(label, said)] = memory.notes()
    assert label == "capacity"
    text = str(said)
    assert text.startswith("24GB = 183,105 tokens at 131,072 bytes a token")
    assert text.endswith("not of the GPU")


def test_plain_tokens_are_not_explained():
    assert LoggedMemory(amount("--capacity", "41408")).notes() == []


@pytest.mark.parametrize(
    "text", ["24X", "24G", "2588B", "40m", "24GBs", "GB", "", "-5", "0", "nan"]
)
def test_an_unknown_text_is_refused_with_the_units_that_are_known(text):
    with pytest.raises(InputError) as refused:
        amount("--capacity", text)
    for known in ("40k is 40,000", "2588b", "24GB", "24GiB"):
        assert known in str(refused.value)


def test_bytes_without_a_model_are_refused():
    with pytest.raises(InputError, match="--model NAME or --kv-bytes"):
        LoggedMemory(amount("--capacity", "24GB")).tokens()


def test_a_model_and_bytes_together_are_refused():
    with pytest.raises(InputError, match="--kv-bytes"):
        LoggedMemory(amount("--capacity", "9"), kv_bytes=1, model="llama-3.1-8b").tokens()


def test_part_of_a_token_is_refused_where_it_is_none():
    memory = LoggedMemory(amount("--capacity", "100.5"))
    assert memory.tokens() == Fraction(201, 2)
    with pytest.raises(InputError, match="a whole number"):
        memory.count()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5", "--capacity: got 5; allowed: at least one block, of 16 tokens"),
        ("007", "--capacity: got '007'; allowed: at least one block, of 16 tokens"),
        ("2b", "--capacity: got '2b'; allowed: memory for "),
        ("100", "--capacity: got 100; allowed: memory for "),  # six blocks of 16, and 4 tokens
    ],
)
@pytest.mark.parametrize("command", ["preempt --rate 3", "size --find rate --slo ttft_p99=9"])
def test_a_capacity_that_is_too_small_is_shown_as_it_was_written(
    command: str, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"{command} --class 300:8 --clock 0.1:0:1e-3 --requests 9"
    assert refusal(capsys, *line.split(), "--capacity", text).startswith(f"fluidkv: {message}")


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("40k", 40_000, "40k"),
        ("40k", Fraction(40_000), "40k"),
        ("40003", 40_000, 40_003),  # in blocks of 16
        ("5", 0, 5),  # of which it is none
        ("2b", 32, "2b"),
        ("2b", 33, 33),
        ("24GB", 183_105, "24GB"),
        ("40k", 12, 12),  # of something else
        ("40k", 40_001, 40_001),
        ("40k", "none", "none"),
        ("1", True, True),
    ],
)
def test_an_amount_stands_for_no_other_value_of_an_error(
    text: str, value: object, shown: object
) -> None:
    assert amount("--capacity", text).shown(value) == shown
