"""Tokens as paths, and all small cases, each once."""

from itertools import permutations

import pytest

from fluidkv.errors import InputError
from fluidkv.prefix.paging.tokens import check_requests, closed, leaves, needed, tokens_of
from fluidkv_papers.theory.paging.cases import forests, sequences


def test_a_token_is_the_path_to_it() -> None:
    assert tokens_of((3, 1)) == ((3,), (3, 1))
    assert needed(((0, 1), (0, 2))) == ((0,), (0, 1), (0, 2))
    assert leaves([(0,), (0, 1), (2,)]) == ((0, 1), (2,))
    assert closed([(0,), (0, 1)])
    assert not closed([(0, 1)])


def test_forests_are_counted_as_rooted_forests_are() -> None:
    # Rooted forests of n nodes without labels: OEIS A000081(n + 1).
    assert [len(list(forests(size))) for size in range(8)] == [1, 1, 2, 4, 9, 20, 48, 115]
    assert all(closed(forest) and len(set(forest)) == 6 for forest in forests(6))


def _renamed(paths: tuple, order: tuple) -> tuple:
    return tuple(tuple(order[number] for number in path) for path in paths)


def test_every_sequence_is_there_once_up_to_names() -> None:
    found = list(sequences(3, 1, 1))
    # of three paths of one token: Bell(3), the ways to say which are equal
    assert found == [
        *(((0,), (0,), (0,)), ((0,), (0,), (1,)), ((0,), (1,), (0,))),
        *(((0,), (1,), (1,)), ((0,), (1,), (2,))),
    ]
    for paths in sequences(2, 1, 2):
        again = [_renamed(paths, order) for order in permutations(range(2))]
        assert sum(each in set(sequences(2, 1, 2)) for each in set(again)) == 1


@pytest.mark.parametrize(
    ("requests", "capacity", "said"),
    [
        ([((0,),)], 0, "capacity"),
        ([((0,),)], True, "capacity"),
        ([()], 2, "request"),
        ([((),)], 2, "request"),
        ([((0, 0, 0),)], 2, "at most 2 tokens"),
        ([((0,), (1,), (2,))], 2, "at most 2 tokens"),
    ],
)
def test_what_does_not_fit_is_one_line(requests, capacity, said) -> None:
    with pytest.raises(InputError, match=said):
        check_requests(requests, capacity)
