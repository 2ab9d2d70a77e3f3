"""Recipes: who is the master, and which slice am I, for those who want only that and no jobs."""
