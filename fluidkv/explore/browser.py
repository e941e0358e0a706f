"""The user's own browser, asked to show an address."""

import shutil
import threading
import webbrowser

from fluidkv.errors import InputError


def require_browser() -> None:
    """Refuse where there is none, before any work is done for it.

    Raises:
        InputError: none is installed, or the one that BROWSER names is not.
    """
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        raise _missing("no browser") from None
    # One that BROWSER names, or that the system has by a common name, is a command.
    if isinstance(found, webbrowser.GenericBrowser) and shutil.which(found.name) is None:
        raise _missing(found.name)


def show(url: str) -> None:
    """Open it, and come back at once: a browser in the terminal runs until it is closed."""
    threading.Thread(target=webbrowser.open, args=(url,)).start()


def _missing(got: str) -> InputError:
    how = "install firefox or chromium, or name one in BROWSER; or open the address yourself"
    return InputError("open", got, f"where there is a browser: {how}")
