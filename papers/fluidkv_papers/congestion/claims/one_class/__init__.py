"""Sections 2 and 3 and Appendix A: requests that are all alike."""
