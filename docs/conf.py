"""Sphinx's settings of the site. `python -m docs._site` lays out the sources and calls Sphinx."""

import fluidkv

project = "fluidkv"
author = "The fluidkv authors"
project_copyright = author
version = release = fluidkv.__version__

extensions = [
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
    "docs._site.mathtext",
    "docs._site.linked",
    "docs._site.parameters",
]
root_doc = "index"
templates_path = ["_site/templates"]
smartquotes = False  # `--option` is no dash
highlight_language = "none"  # most blocks are what a command prints
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 76
toc_object_entries = False  # a room has a hundred names; its page has its own list

# Names of ours must be there. Those of other packages would need the network to be looked up.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!fluidkv\.).*")]

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
nb_execution_mode = "off"  # `docs._site.executed` runs them
nb_merge_streams = True
nb_ipywidgets_js = {}  # would come from another host
copybutton_exclude = ".linenos, .gp, .go"

html_math_renderer = "mathtext"
html_theme = "pydata_sphinx_theme"
html_title = "fluidkv"
_SECTIONS = (
    ("index", "Start"),
    ("tutorials/index", "Tutorials"),
    ("commands/index", "Commands"),
    ("reference/index", "Reference"),
    ("gallery", "Figures"),
    ("claims", "Claims"),
)
html_context = {"default_mode": "auto", "site_sections": _SECTIONS}
html_sidebars = {"**": ["all-pages"]}
html_static_path = ["_site/static"]
html_favicon = "_site/static/icon.svg"
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "navbar_end": ["theme-switcher"],
    "navbar_center": ["sections"],
    "secondary_sidebar_items": {"**": ["page-toc"], "gallery": [], "claims": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
