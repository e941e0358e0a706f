"""What a claim is, how it is checked, and how its outcome is recorded. No paper."""
