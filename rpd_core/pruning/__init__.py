"""From rankings to pruned policies: evaluation, curves, choice, export."""
