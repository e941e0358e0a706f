"""Code in the text that names something of ours becomes a link to it.

`congestion.example-2` leads to the claim, `fluidkv figure measured-log` to the picture, `fluidkv
study` to the command, `fk.stability` to the reference. On a git host it is code, as it stands.
"""

import json
import re
from functools import cache
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.osutil import relative_uri

from docs._site.commands import commands
from docs._site.layout import ROOT
from docs._site.objects import meant
from fluidkv.figures.registry import written
from fluidkv.ledger.registry import fronts, ledger
from fluidkv.text import id_key

_NEVER_IN = (nodes.reference, nodes.title, addnodes.pending_xref, addnodes.desc_signature)


class Linked(SphinxPostTransform):
    """Once all pages are read."""

    default_priority = 5
    formats = ("html",)

    def run(self, **_: Any) -> None:
        here = self.env.docname
        for node in list(self.document.findall(nodes.literal)):
            if any(isinstance(above, _NEVER_IN) for above in _above(node)):
                continue
            page, anchor = self._place(node.astext())
            if page is None or page == here:
                continue
            uri = relative_uri(f"{here}.html", f"{page}.html") + (f"#{anchor}" if anchor else "")
            link = nodes.reference("", "", internal=True, refuri=uri)
            node.replace_self(link)
            link += node

    def _place(self, words: str) -> tuple[str | None, str]:
        """(page, anchor) of what is named; (None, "") of other code."""
        named = re.fullmatch(r"(?:fluidkv )?(verify|figure) (\S+)", words)
        verb, name = named.groups() if named else ("", "")
        command = re.match(r"fluidkv ([a-z]+)( |$)", words)
        found = self.env.found_docs
        if words in _claims() or (verb == "verify" and name in _claims()):
            return ("claims", name or words) if "claims" in found else (None, "")
        if verb == "figure" and id_key(name) in _figures() and "gallery" in found:
            return "gallery", _figures()[id_key(name)]
        if command and command[1] in commands():
            return f"commands/{command[1]}", ""
        known = meant(words, "") if re.match(r"(fk|fluidkv)\.[\w.]+$", words) else None
        if known is not None:
            python = self.env.domains.python_domain
            entry = python.objects.get(known.path)
            return (entry.docname, entry.node_id) if entry else (None, "")
        return None, ""


def _above(node: nodes.Node):
    while node.parent is not None:
        node = node.parent
        yield node


@cache
def _claims() -> frozenset[str]:
    return frozenset(front for claim in ledger() for front in fronts(claim.id)[1:])


@cache
def _figures() -> dict[str, str]:
    """What is the same for all ways to write a figure's id -> its anchor in the gallery."""
    manifest = (ROOT / "figures" / "manifest.json").read_text("utf-8")
    return {id_key(name): written(name) for name in json.loads(manifest)["figures"]}


def _of_other_packages(
    _app: Sphinx, _env: Any, xref: addnodes.pending_xref, _shown: nodes.Node
) -> nodes.Node | None:
    """A type of another package by its name alone; `signature` wrote `_` before it."""
    target = xref["reftarget"]
    return nodes.Text(target.removeprefix("_.")) if target.startswith("_.") else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(Linked)
    app.connect("missing-reference", _of_other_packages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
