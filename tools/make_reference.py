"""Keep the documentation true: write docs/reference/commands.md from the commands themselves, and run the pages.

    python tools/make_reference.py            rewrite what is out of date
    python tools/make_reference.py --check    name what is out of date, and end with 1
    python tools/make_reference.py --models   run also what needs the embedded model

A page is run from top to bottom in an empty folder. In it, a comment stands before what it is about:

    <!-- file: NAME -->                       the next code block is written to a file
    <!-- sheet: NAME -->                      the next table is typed into the worksheet "Table" of a workbook
    <!-- fill: FILE.xlsx -->                  the next table is filled into a rater's sheet: its first column finds the
                                              row, the others are cells of that row
    <!-- fill: TASK-*.xlsx TITLE -->          the same for several raters: a column each, in place of the star; TITLE is
                                              the column of their sheets that it goes into
    <!-- replies: NAME from PROMPTS -->       the next code block is a file of replies made for the first prompts
    <!-- run: exit=1 head=5 tail=2 model -->  the commands of the next block are run and what they print is put there;
                                              all of it is optional: exit code, lines kept at both ends, needs a model
"""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import shlex
import sys
import tempfile
import typing
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from types import UnionType

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
COMMANDS = DOCS / "reference" / "commands.md"
REPLIES = ("Sí", "No.", "Claro que sí", "No sé")

HEAD = """# Commands

<!-- Written by tools/make_reference.py from the commands themselves; don't edit it by hand. -->

`isogloss COMMAND --help` says the same in the terminal; `isogloss --version` prints the version. What a command prints
on stdout is data, what it prints on stderr is for the person who waits. Exit codes and messages: [errors](errors.md).
Settings for `--set`: [settings](settings.md).

| command | what it does |
| --- | --- |
"""


# --- commands.md ------------------------------------------------------------------------------------------------------


def commands_page() -> str:
    """The page of all commands, from their signatures: the same whatever the terminal and the version of typer."""
    from isogloss.cli.app import app

    commands = [(str(info.name), info.callback) for info in app.registered_commands if info.callback is not None]
    index = "".join(f"| [`{name}`](#isogloss-{name}) | {_doc(function)[0]} |\n" for name, function in commands)
    return HEAD + index + "".join(_command(name, function) for name, function in commands)


def _doc(function: Callable[..., object]) -> list[str]:
    text = inspect.cleandoc(function.__doc__ or "")
    return [" ".join(part.split()) for part in text.split("\n\n")]


class _Parameter(typing.NamedTuple):
    is_option: bool
    spelling: str
    words: str
    required: bool


def _command(name: str, function: Callable[..., object]) -> str:
    parameters = [*_parameters(function)]
    arguments = [one for one in parameters if not one.is_option]
    usage = " ".join(
        ["isogloss", name, *(one.spelling if one.required else f"[{one.spelling}]" for one in arguments), "[OPTIONS]"]
    )
    parts = [f"\n## isogloss {name}\n", *(f"\n{part}\n" for part in _doc(function)), f"\n```text\n{usage}\n```\n"]
    for title, is_option in (("argument", False), ("option", True)):
        chosen = [one for one in parameters if one.is_option is is_option]
        rows = ["| `{}` | {} |\n".format(one.spelling.replace("|", "\\|"), one.words) for one in chosen]
        if rows:
            parts += [f"\n| {title} | meaning |\n| --- | --- |\n", *rows]
    return "".join(parts)


def _parameters(function: Callable[..., object]) -> Iterator[_Parameter]:
    from typer.models import ArgumentInfo, OptionInfo

    hints = typing.get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        kind, *details = typing.get_args(hints[name]) if hasattr(hints[name], "__metadata__") else (hints[name],)
        info = next(detail for detail in details if isinstance(detail, ArgumentInfo | OptionInfo))
        is_option = isinstance(info, OptionInfo)
        default, required = parameter.default, parameter.default is inspect.Parameter.empty
        words = (info.help or "").replace("|", "\\|")
        if is_option:
            # Inside Annotated, typer takes the first spelling for the default.
            given = [word for word in (info.default, *(info.param_decls or ())) if isinstance(word, str)]
            flags = ", ".join(sorted(given, key=len, reverse=True) or [f"--{name.replace('_', '-')}"])
            spelling = flags if kind is bool else f"{flags} {info.metavar or _placeholder(kind)}"
        else:
            spelling = info.metavar or name.upper()
        if not (required or default is None or default is False or default in ("", [])):
            words += f" Default: `{default}`."
        yield _Parameter(is_option, spelling, words, required)


def _placeholder(kind: object) -> str:
    if isinstance(kind, UnionType) or typing.get_origin(kind) in (typing.Union, list):
        kind = typing.get_args(kind)[0]
    return {int: "N", Path: "PATH"}.get(typing.cast(type, kind), "TEXT")


# --- pages that are run -----------------------------------------------------------------------------------------------

_STEP = re.compile(
    r"(?P<open><!-- (?P<what>file|sheet|fill|replies|run)(?:: *(?P<words>[^>]*?))? *-->\n\n?)"
    r"(?P<body>```\w*\n.*?\n```\n|(?:\|[^\n]*\n)+)",
    re.DOTALL,
)


def pages() -> list[Path]:
    """Pages that have commands to run."""
    return [path for path in sorted(DOCS.rglob("*.md")) if "<!-- run" in path.read_text(encoding="utf-8")]


def filled(text: str, folder: Path, *, models: bool = False) -> str:
    """A page with what its commands print now; `folder` is where they run."""

    def step(found: re.Match[str]) -> str:
        words = (found["words"] or "").split()
        body = found["body"]
        match found["what"]:
            case "file":
                Path(words[0]).write_text(_inner(body), encoding="utf-8")
            case "sheet":
                _type_in(Path(words[0]), body)
            case "fill":
                _fill(words[0], " ".join(words[1:]), body)
            case "replies":
                replies = _replies(Path(words[2]))
                Path(words[0]).write_text(replies, encoding="utf-8")
                body = _block(body, replies)
            case "run" if models or "model" not in words:
                body = _block(body, _session(_inner(body), words))
        return found["open"] + body

    with chdir(folder):
        return _STEP.sub(step, text)


def _inner(block: str) -> str:
    return block.split("\n", 1)[1].rsplit("```", 1)[0]


def _block(block: str, inner: str) -> str:
    return block.split("\n", 1)[0] + "\n" + inner + "```\n"


def _type_in(path: Path, table: str) -> None:
    """Put a Markdown table into the template's worksheet in place of its example."""
    import openpyxl

    book = openpyxl.load_workbook(path)
    sheet = book["Table"]
    sheet.delete_rows(1, sheet.max_row)
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table.splitlines()]
    for at, row in enumerate([rows[0], *rows[2:]], start=1):
        for column, text in enumerate(row, start=1):
            cell = sheet.cell(at, column, text or None)
            cell.number_format = "@"
    book.save(path)


def _fill(name: str, title: str, table: str) -> None:
    """Fill in the sheets of one rater or of several, as they would in a spreadsheet program."""
    head, _, *rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table.splitlines()]
    for column, word in enumerate(head[1:], start=1):
        path, field = (Path(name.replace("*", word)), title) if "*" in name else (Path(name), word)
        _fill_column(path, head[0], field, {row[0]: row[column] for row in rows})


def _fill_column(path: Path, key: str, field: str, cells: dict[str, str]) -> None:
    """Write cells under a title; the text in another column says which row each belongs to."""
    import openpyxl

    book = openpyxl.load_workbook(path)
    sheet = book.worksheets[-1]
    titles = [cell.value for cell in sheet[1]]
    keys, place = titles.index(key), titles.index(field)
    left = dict(cells)
    for row in sheet.iter_rows(min_row=2):
        if (text := left.pop(str(row[keys].value), None)) is not None:
            row[place].value = text or None
    if left:
        raise SystemExit(f"{path} has no row for {sorted(left)}")
    book.save(path)


def _replies(prompts: Path) -> str:
    ids = [json.loads(line)["prompt_id"] for line in prompts.read_text(encoding="utf-8").splitlines()]
    rows = [f"{prompt_id},our-model,1,{reply}\n" for prompt_id, reply in zip(ids, REPLIES, strict=False)]
    return "".join(["prompt_id,model,repeat,response\n", *rows])


def _session(block: str, words: list[str]) -> str:
    """The commands of a block, each with what it prints now."""
    options = dict(word.split("=") for word in words if "=" in word)
    shown = ""
    commands = re.findall(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)\n", block, re.MULTILINE)
    for number, command in enumerate(commands, start=1):
        code, text = run(shlex.split(command.replace("\\\n", " ")))
        wanted = int(options.get("exit", 0)) if number == len(commands) else 0
        if code != wanted:
            raise SystemExit(f"{command!r} ended with {code}, expected {wanted}: {text}")
        lines = [line.replace(str(Path.home()), "~") for line in text.splitlines() if not _under_way(line)]
        head, tail = int(options.get("head", len(lines))), int(options.get("tail", 0))
        if len(lines) > head + tail:
            lines = [*lines[:head], "…", *lines[len(lines) - tail :]]
        shown += "\n".join([f"$ {command}", *(line.rstrip() for line in lines)]) + "\n"
    return shown


def _under_way(line: str) -> bool:
    """A line of progress that depends on how quick the machine is."""
    found = re.match(r"\S+/\S+: ([\d,]+) of ([\d,]+)", line)
    return found is not None and found[1] != found[2]


def run(arguments: list[str]) -> tuple[int, str]:
    """A command of isogloss (or `head -n N FILE`) in this process: its exit code and all that it prints."""
    from isogloss.cli import main

    if arguments[:2] == ["head", "-n"]:
        lines = Path(arguments[3]).read_text(encoding="utf-8").splitlines()
        return 0, "\n".join(lines[: int(arguments[2])])
    given, printed, code = sys.argv, io.StringIO(), 0
    sys.argv = arguments
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    finally:
        sys.argv = given
    return code, printed.getvalue()


def main_of_tool(arguments: list[str]) -> int:
    """Rewrite, or with `--check` only compare; returns the exit code."""
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    stale = []
    for path in [COMMANDS, *pages()]:
        held = path.read_text(encoding="utf-8") if path.exists() else ""
        if path == COMMANDS:
            text = commands_page()
        else:
            with tempfile.TemporaryDirectory() as folder:
                text = filled(held, Path(folder), models="--models" in arguments)
        if text != held:
            stale.append(path)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
    for path in stale:
        sys.stderr.write(f"{'out of date' if '--check' in arguments else 'rewritten'}: {path.relative_to(ROOT)}\n")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main_of_tool(sys.argv[1:]))
