"""The demo: a made-up clinic in a vault, five questions, and what to type next."""

from discreet.demo.tour import tour

__all__ = ["tour"]
