"""What the exit code says; 130 of an interrupted run is with the signals."""

FAILS = 1  # an outcome that is not its record's, or no setting that meets what is asked
BAD_INPUT = 2
CRASHED = 70  # a bug: EX_SOFTWARE of sysexits.h, "an internal software error has been detected"
