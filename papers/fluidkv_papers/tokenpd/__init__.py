"""The paper Token-PD: cached tokens as assets, a price for memory, and what it guarantees."""
