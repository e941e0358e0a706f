"""The charts of reports."""
