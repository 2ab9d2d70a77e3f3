"""What an operator does: small functions over an open registry, which read, check, and write.

    jobs, shards, servers, statistics     how things stand
    settings, preview, doctor, dump       what is agreed on; what would happen; what is wrong; all of it
    past                                  fires of the past: which there are, and how many are left to run
    masters, slices                       masters of services, and who has which slice
    operator                              every change, each of them told to the audit

Reads are plain functions; changes are methods of `operator.Operator`. A registry belongs to whoever calls,
and to one thread. What is refused raises an `OperationError` that says so; nothing was changed, unless the
sentence says that it was or that nobody can tell.
"""
