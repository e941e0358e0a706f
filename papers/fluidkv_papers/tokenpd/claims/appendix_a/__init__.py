"""Appendix A, line by line."""
