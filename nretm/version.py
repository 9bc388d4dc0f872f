"""The version, known once: pyproject.toml and saved models read it here."""

__version__ = "0.1.0"
