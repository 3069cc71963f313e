"""What was asked and answered, kept for ever."""

from isogloss.store.ledger import Arm, Asked, Due, Ledger, Plan, Row, Tally

__all__ = ["Arm", "Asked", "Due", "Ledger", "Plan", "Row", "Tally"]
