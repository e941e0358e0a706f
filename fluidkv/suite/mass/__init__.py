"""The mass engine beside plain code, and beside C."""
