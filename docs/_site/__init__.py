"""How the site is made: sources laid out, pages generated, notebooks executed, Sphinx called."""
