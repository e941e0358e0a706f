"""All pages: those of the repository, completed, and those made from the package itself."""

from docs._site.analyses import analyses_page
from docs._site.claims import claims_page
from docs._site.commands import command_pages
from docs._site.failing import Check, checked, with_failing
from docs._site.gallery import gallery
from docs._site.layout import Pages, pages_of_repository
from docs._site.moving import with_pictures
from docs._site.question_keys import with_tables_of_keys
from docs._site.recorded_runs import with_recorded_runs
from docs._site.reference import reference
from docs._site.rooms import rooms_page
from docs._site.schemas import schema_page
from docs._site.tutorials import tutorials
from fluidkv_papers.coverage import page as coverage

_TEMPLATE = "*This file is a template: `make docs` builds the page into `build/site`.*\n\n"
"""What pages that are completed here say of themselves where the repository is read."""


def all_pages(check: Check = checked) -> Pages:
    """Path below the root of the site -> Markdown.

    Args:
        check: finds the outcomes of the claims that do not hold.
    """
    repository = {path: text.replace(_TEMPLATE, "") for path, text in pages_of_repository().items()}
    pages = with_recorded_runs(with_tables_of_keys(with_pictures(repository)))
    return {**with_failing(pages, check), **generated()}


def generated() -> Pages:
    """Those that no file of the repository has."""
    made = (
        *(reference, command_pages, tutorials, gallery),
        *(claims_page, schema_page, rooms_page, analyses_page, coverage_page),
    )
    return {path: text for make in made for path, text in make().items()}


def coverage_page() -> Pages:
    """What each paper has, and which claims and figures there are about it."""
    return {"coverage.md": coverage()}
