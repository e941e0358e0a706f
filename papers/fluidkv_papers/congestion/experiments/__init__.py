"""Runs of sections 5, 6 and Appendix D that claims, figures and tables share."""
