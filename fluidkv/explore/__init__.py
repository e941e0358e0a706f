"""The page one can touch: sliders, roots and the batch, in one file that a browser opens."""
