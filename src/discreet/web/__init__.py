"""The pages: templates, their style and script, small charts. Shows what it is given."""

from discreet.web.rendering import page, static_file

__all__ = ["page", "static_file"]
