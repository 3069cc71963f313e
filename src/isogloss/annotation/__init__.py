"""People's part: what they are asked, sheets that go out and come back, how far they agree."""

from isogloss.annotation.form import Field, Form, Together
from isogloss.annotation.sheets import Fault, SheetReading, read_sheet, sheet_task, write_sheets

__all__ = ["Fault", "Field", "Form", "SheetReading", "Together", "read_sheet", "sheet_task", "write_sheets"]
