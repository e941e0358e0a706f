"""What becomes of starts: in what they end, when, and what happens on the way. In batches."""
