"""What is drawn on axes, one kind of artist a file.

Every reader returns the marks of one artist, plain JSON; an artist that is not there to be seen
has none. Sizes are in points of type, coordinates in those of the axes: "data", or "axes" for a
share of the width or height.
"""
