"""What claims and figures of Token-PD share: printed numbers, sequences, runs."""
