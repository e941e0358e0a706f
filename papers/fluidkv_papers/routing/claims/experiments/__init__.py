"""Section 5 and appendix B: what is printed there, and simulations of it."""
