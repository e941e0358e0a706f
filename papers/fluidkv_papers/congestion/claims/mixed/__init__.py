"""Section 4, section 5.3 and Appendix B: requests of several lengths."""
