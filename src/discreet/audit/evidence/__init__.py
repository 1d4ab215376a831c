"""Evidence from samples: outputs, events, and bounds on their probabilities."""

__all__: list[str] = []
