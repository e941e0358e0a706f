"""What an operator can turn on a server."""

from dataclasses import dataclass, fields, replace
from fractions import Fraction

from fluidkv.record import Record
from fluidkv.serving.engine_text import ServedEngine, with_settings
from fluidkv.serving.limits import Limits


@dataclass(frozen=True)
class Setting(Record):
    """What an operator can turn. None: no cap.

    Args:
        watermark: share of the blocks that admission leaves free.
        max_num_seqs: most requests running at once.
        admission_rate: most admissions an iteration.
        clients: requests in the system at once, where clients wait for their answers.
        conservativeness: of SGLang's admission; None: as the engine has it.

    Examples:
        >>> from fluidkv.answers import Setting
        >>> now = Setting(max_num_seqs=256)
        >>> now.changed(Setting(max_num_seqs=64, watermark=0.01))
        ('watermark', 'max_num_seqs')
    """

    watermark: float = 0.0
    max_num_seqs: int | None = None
    admission_rate: Fraction | None = None
    clients: int | None = None
    conservativeness: float | None = None

    def changed(self, other: "Setting") -> tuple[str, ...]:
        """The knobs in which two settings differ."""
        return tuple(name for name in KNOBS if getattr(self, name) != getattr(other, name))


KNOBS = tuple(field.name for field in fields(Setting))
"""Fields of a `Setting`: what a recommendation may turn.

>>> from fluidkv.answers import Setting
>>> from fluidkv.answers.served.setting import KNOBS
>>> KNOBS
('watermark', 'max_num_seqs', 'admission_rate', 'clients', 'conservativeness')
>>> [getattr(Setting(max_num_seqs=64), name) for name in KNOBS]
[0.0, 64, None, None, None]
"""


def limits_of(limits: Limits, setting: Setting) -> Limits:
    """Memory as given, with the caps of a setting."""
    return replace(
        limits,
        watermark=setting.watermark,
        max_num_seqs=setting.max_num_seqs,
        admission_rate=setting.admission_rate,
    )


def engine_of(engine: ServedEngine, setting: Setting) -> ServedEngine:
    """The engine as a setting has it.

    Raises:
        InputError: a conservativeness that the engine does not have, or out of range.
    """
    if setting.conservativeness is None:
        return engine
    return with_settings(engine, {"conservativeness": f"{setting.conservativeness:g}"})
