"""What the exit code says; 130 of an interrupted run is with the signals."""

DIFFERS = 1  # an outcome from its record
NO_PICK = 1  # no setting that meets what is asked
BAD_INPUT = 2
CRASHED = 70  # a bug: EX_SOFTWARE of sysexits.h, "an internal software error has been detected"
