"""A measured run of an engine, replayed: what we predict of one half from the other.

answer = replay_log("my_log/")                  # clock fitted on the first half
answer.main.errors["latency"].median_relative   # against the requests of the second
"""

from fluidkv.answers.replay.account import Account
from fluidkv.answers.replay.errors import RelativeError, SeriesError
from fluidkv.answers.replay.replay import replay_log
from fluidkv.answers.replay.report import tables
from fluidkv.answers.replay.result import Prediction, Replay
from fluidkv.answers.replay.swing import Swing

__all__ = [
    "Account",
    "Prediction",
    "RelativeError",
    "Replay",
    "SeriesError",
    "Swing",
    "replay_log",
    "tables",
]
