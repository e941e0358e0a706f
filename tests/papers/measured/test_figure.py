"""The numbers behind the picture of the SGLang run."""

from matplotlib.figure import Figure as Canvas

from fluidkv.answers import replay_log
from fluidkv.answers.figures.replay_steps import draw_steps, steps_figure
from tests.answers.replay.sglang_logs import write_log


def test_any_log_is_drawn(tmp_path) -> None:
    write_log(tmp_path)
    figure = steps_figure(replay_log(tmp_path, fit="second"))
    canvas = Canvas()
    draw_steps(figure.data(), canvas)
    assert [ax.get_ylabel() for ax in canvas.axes] == [
        "requests running",
        "requests waiting",
        "KV in use (%)",
    ]
    assert "by the second half of the logged time" in figure.caption(figure.data())
