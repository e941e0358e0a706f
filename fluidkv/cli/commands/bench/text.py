"""The suite's report as a person reads it."""

from fluidkv.report.page import Page
from fluidkv.suite.report import Report, Section
from fluidkv.suite.tables import (
    SAID_DISTURBED,
    aims,
    any_disturbed,
    machine_rows,
    rate_table,
    ratio_table,
)


def say_report(page: Page, report: Report) -> None:
    """The machine, then a table or two for each benchmark."""
    page.title("Benchmarks", ", small ones: their rates say little" if report.quick else "")
    page.rows(machine_rows(report))
    for section in report.sections:
        _say_section(page, section)
    if any_disturbed(report.sections):
        page.line()
        page.paragraph(SAID_DISTURBED)


def _say_section(page: Page, section: Section) -> None:
    page.heading(section.title)
    page.paragraph(section.about, "dim")
    page.line()
    page.table(*rate_table(section))
    if section.ratios:
        page.line()
        page.table(*ratio_table(section))
    for said in (*aims(section), *section.notes):
        page.paragraph(said)
