"""What claims and figures of published runs share: their numbers, requests, and recorded runs."""
