"""The pictures of an answer, as a command writes them with `--out`."""
