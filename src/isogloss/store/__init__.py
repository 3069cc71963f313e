"""What was asked and answered, kept for ever."""

from isogloss.store.ledger import Ledger
from isogloss.store.rows import Arm, Asked, Due, Plan, Row, Spending, Tally

__all__ = ["Arm", "Asked", "Due", "Ledger", "Plan", "Row", "Spending", "Tally"]
