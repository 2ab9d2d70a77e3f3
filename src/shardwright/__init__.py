"""Elastic, sharded, fail-safe scheduled jobs for Python."""

__version__ = "0.1.0.dev0"
