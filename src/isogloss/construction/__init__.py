"""Building data sets: steps from tables to tables, and what such steps share."""

from isogloss.construction.pipeline import (
    Ask,
    Construction,
    Requests,
    Sheet,
    Step,
    Table,
    Tables,
    WaitingError,
    Workshop,
)

__all__ = ["Ask", "Construction", "Requests", "Sheet", "Step", "Table", "Tables", "WaitingError", "Workshop"]
