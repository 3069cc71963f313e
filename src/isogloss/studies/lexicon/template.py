"""An Excel sheet to fill in: how it is laid out, with an example that can be run as it is."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from isogloss.errors import SettingError
from isogloss.files import whole_file
from isogloss.studies.lexicon.items import MINUS, PLUS

HOW_TO = (
    ("How to fill in this workbook", ""),
    ("", ""),
    ("Where", "Worksheet 'Table'. Put your rows in place of the example; keep the titles of the first four columns."),
    ("item", "A short name for the concept, the same in each of its rows: Z001, popcorn, …"),
    ("description", "What the concept is, in the language of your survey, without naming a variant. Once is enough."),
    ("gloss", "A short translation for readers of the report. May be empty."),
    ("variant", "One form of the concept. One row for each variant."),
    ("countries", "One column per country, titled with its two-letter code (ISO 3166-1): MX, CL, ES, …"),
    ("", "Made-up or smaller places: give them any code here, and name them in a places file "
         "(columns code, name, area, latitude, longitude; setting places=FILE)."),
    ("labels", "+ the variant is predominant there, - it is marginal or absent. Leave it empty if you don't know."),
    ("", f"Also read as +: {', '.join(PLUS[1:-1])}. As -: {', '.join(MINUS[1:6])}. Anything else: unlabelled."),
    ("cells", "The cells are formatted as text, so that + and - stay as typed and a code such as NO stays a code."),
    ("then", "isogloss check lexicon FILE.xlsx tells what is odd in the table and what would be asked."),
)  # fmt: skip

COUNTRIES = ("ES", "MX", "CO", "CL", "AR")
EXAMPLE = (
    ("straw", "Tubo delgado por el que se sorbe una bebida.", "drinking straw", "pajita", "+---+"),
    ("straw", "", "", "popote", "-+---"),
    ("straw", "", "", "pitillo", "--+--"),
    ("straw", "", "", "bombilla", "---+-"),
    ("straw", "", "", "sorbete", "----+"),
    ("pool", "Estanque artificial para bañarse y nadar.", "swimming pool", "piscina", "+-++ "),
    ("pool", "", "", "alberca", "-+---"),
    ("pool", "", "", "pileta", "----+"),
)
EMPTY_ROWS = 500
"""Rows below the example that are formatted as text."""


def write_template(path: Path) -> None:
    """Write the workbook: a sheet that explains, and a sheet with an example table in the wide layout.

    Raises
    ------
    SettingError
        If the path doesn't end in .xlsx, is there already, or can't be written.
    """
    path = Path(path)
    if path.suffix.lower() != ".xlsx":
        raise SettingError(f"the template is an Excel file; expected a name ending in .xlsx, got {str(path)!r}")
    if path.exists():
        raise SettingError(f"{path} is there already; give another name")
    from openpyxl import Workbook
    from openpyxl.styles import Alignment, Font

    book = Workbook()
    how_to = book.worksheets[0]
    how_to.title = "How to"
    for row in HOW_TO:
        how_to.append(row)
    how_to.column_dimensions["A"].width = 14
    how_to.column_dimensions["B"].width = 110
    for [cell] in how_to[f"A1:A{how_to.max_row}"]:
        cell.font = Font(bold=True)
    table = book.create_sheet("Table")
    table.append(("item", "description", "gloss", "variant", *COUNTRIES))
    for *texts, labels in EXAMPLE:
        table.append((*texts, *labels))
    for cells in table.iter_rows(min_row=1, max_row=1 + len(EXAMPLE) + EMPTY_ROWS, max_col=4 + len(COUNTRIES)):
        for at, cell in enumerate(cells):
            cell.number_format = "@"
            cell.font = Font(bold=cell.row == 1)
            if at >= 4:
                cell.alignment = Alignment(horizontal="center")
    for column, width in zip("ABCD", (12, 50, 18, 18), strict=True):
        table.column_dimensions[column].width = width
    table.freeze_panes = "E2"
    book.active = 1
    content = BytesIO()
    book.save(content)
    try:
        with whole_file(path) as partial:
            partial.write_bytes(content.getvalue())
    except OSError as error:
        raise SettingError(f"can't write {path}: {error.strerror or error}") from error
