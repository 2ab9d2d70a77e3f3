"""Coordination: what should happen next, decided from what is known now.

Nothing in this package reads a clock, touches the registry or starts a thread. Every module is one
concept: the nodes it keeps, the questions one can ask of them, and what it decides.
"""
