"""What was measured on real servers and published, against our engines."""
