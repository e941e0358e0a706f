"""`python -m docs._site`: the whole site in build/site."""

import argparse
from pathlib import Path

from docs._site.build import ROOT, build


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m docs._site", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    asked = parser.parse_args()
    code = build(asked.out, asked.out.parent / "site-work")
    if code == 0:
        print(f"The site begins at {asked.out / 'index.html'}")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
