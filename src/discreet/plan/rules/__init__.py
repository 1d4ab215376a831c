"""What the rules of the planner decide, one subject in each file."""

__all__: list[str] = []
