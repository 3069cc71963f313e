"""Templates, and the orders in which questions and options are put."""

from isogloss.prompts.orders import ranks, seeded_order, seeded_positions, shuffled
from isogloss.prompts.template import Template

__all__ = ["Template", "ranks", "seeded_order", "seeded_positions", "shuffled"]
