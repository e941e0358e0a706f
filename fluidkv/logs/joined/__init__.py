"""Files of one run put together: what each is, what all say, where they contradict each other."""
