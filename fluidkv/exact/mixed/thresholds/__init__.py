"""From which input length on a mix of output lengths is stable, for every input length at once."""
