"""Models and GPUs that people run, and what their numbers alone say of memory and of a clock."""
