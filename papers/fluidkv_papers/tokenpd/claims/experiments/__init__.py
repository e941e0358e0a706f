"""Experiments of Token-PD in simulation: its tables, and a price beside what people use."""
