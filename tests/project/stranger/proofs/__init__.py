"""The project's own package."""

NAME = "it works once"
