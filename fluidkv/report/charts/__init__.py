"""Figures as interactive charts: what Matplotlib drew, redrawn in the browser by d3.

chart(figure)   an HTML fragment for each figure
style()         CSS for all of them; colours are those of assets/look.css
script()        JavaScript for all of them, once a document
"""

from fluidkv.report.charts.fragment import chart, script, style

__all__ = ["chart", "script", "style"]
