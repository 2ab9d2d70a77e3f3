"""The registry in a file: the processes of one machine, and nothing to install.

plan        one commit: what it asks of the tree, and what it does to it
schema      the tables, and the triggers that do a whole commit in one statement
file        every question and change, one statement each
place       where a file may live
liveness    lock files and heartbeats: who is alive
holder      who keeps everybody from writing
keeper      the thread that beats and watches
requests    what is said to the clerk, and by it
line        commits that wait, and what becomes of them
clerk       the thread that touches the file
driver      the registry that puts them together
"""

from .driver import SqliteRegistry, open_at

__all__ = ["SqliteRegistry", "open_at"]
