"""The online knapsack of sections 3 to 5 and Appendix A: rounds, tokens, a price."""
