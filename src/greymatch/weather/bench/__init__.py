"""All weather methods at one budget, beside the references: scores, stability, winds and cost."""
