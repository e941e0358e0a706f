"""The paper Routing: randomized eviction of prefixes, learned routing of requests."""
