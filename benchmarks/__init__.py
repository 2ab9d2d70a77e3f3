"""How fast we are, beside what people use today.

A module here with a `run()` is a benchmark: it measures and gives back rows (see `rows`). `NAME` names it if
the module's own name does not. `make bench` runs them all, `make bench ONLY=name` one.
"""
