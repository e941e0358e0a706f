"""Log folders by the names of their files: which make a log, and what each says."""
