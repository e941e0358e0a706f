"""What every page of ours begins with: its policy, its mark, its look."""

from collections.abc import Sequence
from html import escape

import fluidkv
from fluidkv.report.policy import policy

MARK = '<meta name="generator" content="fluidkv'
"""By it a page of ours is known: only what has it in its first lines is ever replaced."""


def head(
    title: str, *, style: str, scripts: Sequence[str], room: str = "", attributes: str = ""
) -> str:
    """From the document's type to the end of its head.

    Args:
        title: plain text.
        style: all of it.
        scripts: those that the page runs; the policy names them.
        room: behind the package's name in the mark, such as "explore".
        attributes: of the html element, each with a blank before it.
    """
    made_by = f"{MARK}{room and ' '}{escape(room)} {escape(fluidkv.__version__)}"
    return (
        f'<!doctype html>\n<html lang="en"{attributes}>\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy([style], scripts)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'{made_by}">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n"
    )
