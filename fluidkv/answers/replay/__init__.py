"""A measured run of an engine, replayed: what we predict of one half from the other."""
