"""The numbers behind the figures, against closed forms and second methods."""

from pathlib import Path

import numpy as np
import pytest

from fluidkv.answers.figures import measured_series
from fluidkv.figures import MissingInput
from fluidkv_papers.vllm.figures import measured_log


def test_mode_fit_recovers_a_mode() -> None:
    t = np.linspace(20.0, 150.0, 131)
    mode = measured_series.Mode(20.0, 2 * np.pi / 21.0, 0.004)
    wave = mode.at(t, np.array([3.0, -1.5]))
    np.testing.assert_allclose(mode.fit(t, wave), [3.0, -1.5], rtol=1e-12)
    crest = np.exp(0.004 * 21.0)  # one turn later the same phase, grown
    assert mode.at(np.array([41.0]), np.array([1.0, 0.0]))[0] == pytest.approx(crest, rel=1e-12)


def test_missing_log_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLUIDKV_TRACES", str(tmp_path))
    with pytest.raises(MissingInput, match="FLUIDKV_TRACES") as error:
        measured_log.data()
    assert str(tmp_path) not in str(error.value)  # the reason is the same on every machine
