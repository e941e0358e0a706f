"""SGLang's prefix tree: whole leaves go, pages are shared, paths in use are locked."""
