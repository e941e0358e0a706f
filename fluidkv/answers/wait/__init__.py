"""The whole answer about one server."""
