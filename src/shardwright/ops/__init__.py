"""What an operator does: small functions over an open registry, which read, check, and write.

    jobs, shards, servers, statistics     how things stand
    settings, preview, doctor, dump       what is agreed on; what would happen; what is wrong; all of it
    operator                              every change, each of them told to the audit
    masters                               masters of services

Reads are plain functions; changes are methods of `operator.Operator`. A registry belongs to whoever calls,
and to one thread. What cannot be done raises `OperationError`, and nothing was changed.
"""
