"""Sections 5 and 6 and Appendix D: policies, and what the numerical experiments show."""
