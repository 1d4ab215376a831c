"""The randomizers that run on the side of the respondent, one in each file."""

__all__: list[str] = []
