"""Figures on footprints: spectra, and the maps of what drafts and windows cure."""
