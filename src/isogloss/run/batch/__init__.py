"""Asking through a provider's batch API: half the price, an answer within a day."""

from isogloss.run.batch.asking import BatchEnd, ask_in_batches, collect_open_batches
from isogloss.run.batch.watch import Waits

__all__ = ["BatchEnd", "Waits", "ask_in_batches", "collect_open_batches"]
