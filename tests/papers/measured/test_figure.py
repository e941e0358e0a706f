"""The numbers behind the picture of the SGLang run."""

from matplotlib.figure import Figure as Canvas

from fluidkv.answers import replay_log
from fluidkv.answers.figures.replay_steps import draw_steps, steps_data, steps_figure
from fluidkv_papers.measured.figures.sglang_run import FIGURE
from tests.answers.replay.sglang_logs import write_log


def test_the_measured_run_has_the_numbers_of_the_page(sglang_replay) -> None:
    data = steps_data(sglang_replay)
    assert (data["measured_preemptions"], data["predicted_preemptions"]) == (20, 20)
    assert len(data["measured_preempted_s"]) == len(data["predicted_preempted_s"]) == 20
    assert data["measured_running"].max() == 68
    caption = FIGURE.caption(data)
    assert "running is off by 2.8, waiting by 3.1 and memory by 4.4 %" in caption
    assert "lasts 293 s, 285 s measured; the log ends at 183 s" in caption


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
