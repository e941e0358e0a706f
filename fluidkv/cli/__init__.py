"""The command line: `fluidkv study | verify | figure`."""

from fluidkv.cli.app import app, main

__all__ = ["app", "main"]
