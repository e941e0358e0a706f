"""The paper WAIT: thresholds of admission, with and without known outputs."""
