"""An interactive page: sliders, roots and the batch, in one file that a browser opens."""
