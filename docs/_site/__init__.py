"""How the site is made: sources laid out, pages generated, Sphinx called; notebooks stored."""
