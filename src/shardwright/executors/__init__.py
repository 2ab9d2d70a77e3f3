"""Executors: what is run for a shard besides a plain function."""
