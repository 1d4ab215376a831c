"""What is audited as a library, with a planted bug beside each."""

__all__: list[str] = []
