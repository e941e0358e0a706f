"""Statements of ours on footprints, each proved where it stands and checked."""
