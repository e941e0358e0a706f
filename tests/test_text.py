"""What comes from outside is shown as letters, whatever it is."""

import pytest

from fluidkv.text import nearest, printable


@pytest.mark.parametrize("text", ["", "a b", "naïve × λ 漢字 \\n [/x]", "emoji 🙂"])
def test_what_prints_stays(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;t\x07", r"\x1b]0;t\x07"),
        ("\x9b2J\x7f\0", r"\x9b2J\x7f\x00"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\u202eright to left\u2066", r"\u202eright to left\u2066"),
        ("\ud800\udcff", r"\ud800\udcff"),
        ("\u2028\xa0\ufeff\U000e0041", r"\u2028\xa0\ufeff\U000e0041"),
    ],
)
def test_what_steers_a_terminal_is_written_out(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sharegp", "sharegpt (the nearest)"),
        ("ShareGPT ", "sharegpt (the nearest)"),
        ("vllm", "vllm-0.11, vllm-bench (the nearest)"),  # which it begins
        ("vll", "vllm-0.11, vllm-bench (the nearest)"),
        ("x", "one of sharegpt, vllm-0.11, vllm-bench, trt"),
        ("", "one of sharegpt, vllm-0.11, vllm-bench, trt"),
        (3, "one of sharegpt, vllm-0.11, vllm-bench, trt"),
    ],
)
def test_an_unknown_name_gets_those_near_it(name: object, said: str) -> None:
    assert nearest(name, ["sharegpt", "vllm-0.11", "vllm-bench", "trt"]) == said
