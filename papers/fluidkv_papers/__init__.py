"""What each paper says: instances, claims, figures and printed numbers, one folder a paper."""
