"""The command line: `shardwright COMMAND`.

    group        the commands there are, each loaded when it is called
    call         what every command is given: the registry it is about, and how to answer
    places       which registry is meant, and the way in
    histories    which history is meant, and the way in
    auditing     what is changed, told to the log and the history
    blocks       what is shown, as values: tables, facts, sentences
    plain        how that looks off a terminal
    screen       how that looks on one
    fires        what the history tells of fires, as it is shown
    seconds      lengths of time, as options take them
    commands/    one file for each command, or for a few that belong together

A command looks and steers by `ops`, and answers by blocks and by one JSON document.
"""

from .group import main

__all__ = ["main"]
