"""All pages that are made from the package itself."""

from docs._site.claims import claims_page
from docs._site.commands import command_pages
from docs._site.gallery import gallery
from docs._site.layout import Pages
from docs._site.reference import reference
from docs._site.schemas import schema_page
from docs._site.tutorials import tutorials


def generated() -> Pages:
    """Path below the root of the site -> Markdown."""
    made = (reference, command_pages, tutorials, gallery, claims_page, schema_page)
    return {path: text for make in made for path, text in make().items()}
