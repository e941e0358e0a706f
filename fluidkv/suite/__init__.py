"""The benchmarks that ship: what `fluidkv bench` runs, each against what the machine can do."""
