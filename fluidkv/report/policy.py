"""What a page of ours may do: load nothing, send nothing, run its own scripts alone."""

import base64
import hashlib
from collections.abc import Sequence


def policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """The page's Content-Security-Policy: these styles and scripts, by their digests.

    Pictures may stand in the page itself, as data.
    """
    # Windows' line ends would change the digests: a browser sees "\n" alone.
    assert not any("\r" in text for text in (*styles, *scripts))
    return (
        f"default-src 'none'; img-src data:; style-src {_digests(styles)}; "
        f"script-src {_digests(scripts)}; base-uri 'none'; form-action 'none'"
    )


def _digests(texts: Sequence[str]) -> str:
    return " ".join(map(_digest, texts)) or "'none'"


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
