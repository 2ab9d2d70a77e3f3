"""Scripts: programs of the operator's own, run for a shard.

    Script(["report.sh", "--full"], folders=["/opt/jobs"], env=["DATABASE_URL", "MODE=nightly"])

No shell is in it: the program and its arguments are a list, and nothing in them is expanded. A program is run
only out of the folders that the operator listed, and only if nobody but root and ourselves can have written
it (see `programs.py`). The shard comes as JSON by standard input and in the environment (SHARDWRIGHT_ITEM and
so on), so no text of a job ever becomes an argument; ElasticJob's JSON is the last argument if that is asked
for.
"""

import logging
import shlex
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from ..errors import Cancelled, Failed, JobError
from ..secrets import MASK, looks_secret, masked
from ..shard import Shard
from . import child, programs

log = logging.getLogger(__name__)

#: How many of the last lines a failing script wrote to stderr are told.
LAST_LINES = 20
#: The longest text Linux lets an argument or a variable be, its name and the zero at its end included.
LONGEST_TEXT = 128 * 1024
_SHORTEST_SECRET = 4


class Script:
    """A body that runs a program: exit code 0 is success, any other fails, and so does death by a signal.

    `folders`: where programs may come from; without any, scripts are refused. `env`: what of our environment
    the program sees besides PATH, HOME and the like ("NAME"), and what else ("NAME=value"). `grace`: for how
    many seconds it may go on when told to stop. `bound`: whether it ends with its lease. What it prints is
    logged, up to `output_limit` bytes for each of stdout and stderr. One that was told to stop counts as cut
    short, whatever its exit code.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        folders: Iterable[str | Path],
        env: Iterable[str] = (),
        elasticjob: bool = False,
        grace: float = 5.0,
        bound: bool = True,
        output_limit: int = child.OUTPUT_LIMIT,
    ) -> None:
        if isinstance(argv, str):
            raise JobError(
                f"a script is a list of program and arguments, not one text: {shlex.split(argv)!r}, "
                "or Script.of_command_line(text) for ElasticJob's script.command.line"
            )
        if isinstance(folders, str) or isinstance(env, str):
            raise JobError("a script's folders and env are lists, not one text")
        self.argv = tuple(argv)
        self.folders = tuple(Path(folder) for folder in folders)
        self.env = tuple(env)
        self.elasticjob = elasticjob
        self.grace, self.bound, self.output_limit = grace, bound, output_limit
        _check_words(self.argv, self.env)
        with programs.opened(self.argv[0], self.folders):
            pass

    @classmethod
    def of_command_line(
        cls,
        text: str,
        *,
        folders: Iterable[str | Path],
        env: Iterable[str] = (),
        elasticjob: bool = True,
        grace: float = 5.0,
        bound: bool = True,
        output_limit: int = child.OUTPUT_LIMIT,
    ) -> Self:
        """ElasticJob's `script.command.line`: split at blanks, quotes as in a shell, and nothing expanded."""
        try:
            argv = shlex.split(text)
        except ValueError as error:
            raise JobError(f"a script's command line cannot be read: {error}") from None
        return cls(
            argv,
            folders=folders,
            env=env,
            elasticjob=elasticjob,
            grace=grace,
            bound=bound,
            output_limit=output_limit,
        )

    def __repr__(self) -> str:
        return f"<Script {masked(shlex.join(self.argv))}>"

    def __call__(self, shard: Shard) -> None:
        told = f"{shard.job_name}, shard {shard.item}"
        last: deque[str] = deque(maxlen=LAST_LINES)
        secrets = self._secrets()

        def printed(stream: str, line: str) -> None:
            if stream == "stderr":
                last.append(line)
            if log.isEnabledFor(logging.INFO):  # there may be many, and to mask one takes its time
                shown = shard.masked(_without(line, secrets))
                log.info("%s: shard %d: %s", shard.job_name, shard.item, shown)

        try:
            with programs.opened(self.argv[0], self.folders) as (path, file):
                ended = child.run(shard, self._program(shard, path, file), printed)
        except JobError as error:
            raise Failed(f"{told}: {error}") from None
        if ended.stopped:
            raise Cancelled(f"{told}: its script was told to stop")
        if ended.code != 0:
            shown = [shard.masked(_without(line, secrets)) for line in last]
            raise Failed("\n".join([f"{told}: its script {ended.how}", *shown]))

    def _program(self, shard: Shard, path: str, file: int | None) -> child.Program:
        argv = [path, *self.argv[1:], *([shard.sharding_context()] if self.elasticjob else [])]
        env = {**self._environment(), **variables(shard)}
        for name, text in [*env.items(), *(("the last argument", text) for text in argv[-1:])]:
            _check_text(name, text)
        return child.Program(
            argv,
            env,
            stdin=shard.as_json().encode("utf-8", "surrogateescape"),
            file=file,
            grace=self.grace,
            bound=self.bound,
            output_limit=self.output_limit,
        )

    def _environment(self) -> dict[str, str]:
        given = dict(each.split("=", 1) for each in self.env if "=" in each)
        return {**child.environment(each for each in self.env if "=" not in each), **given}

    def _secrets(self) -> list[str]:
        """What the program was handed and may print, and nobody should read."""
        env = self._environment()
        asked = {each.split("=", 1)[0] for each in self.env}
        found = [env[name] for name in asked if name in env and looks_secret(name)]
        # Line by line, as it is printed: a key has several.
        parts = {part for text in found for part in text.splitlines() if len(part) >= _SHORTEST_SECRET}
        return sorted(parts, key=len, reverse=True)


def variables(shard: Shard) -> dict[str, str]:
    """The shard as environment variables."""
    return {
        "SHARDWRIGHT_JOB": shard.job_name,
        "SHARDWRIGHT_ITEM": str(shard.item),
        "SHARDWRIGHT_TOTAL": str(shard.total),
        "SHARDWRIGHT_PARAMETER": shard.parameter,
        "SHARDWRIGHT_JOB_PARAMETER": shard.job_parameter,
        "SHARDWRIGHT_FIRE_TIME": shard.fire_time.isoformat() if shard.fire_time is not None else "",
        "SHARDWRIGHT_TOKEN": str(shard.token),
        "SHARDWRIGHT_ATTEMPT": str(shard.attempt),
        "SHARDWRIGHT_SOURCE": shard.source,
        "SHARDWRIGHT_SHARD": shard.as_json(),
    }


def _check_words(argv: Sequence[str], env: Sequence[str]) -> None:
    if not argv or not argv[0]:
        raise JobError("a script needs a program: its list of arguments is empty")
    for word in (*argv, *env):
        if not isinstance(word, str):
            raise JobError(f"a script's arguments and env are texts, not {word!r:.100}")
        if "\0" in word:
            raise JobError(f"a script's arguments and env cannot have a NUL in them: {masked(word)!r:.100}")
    for word in env:
        if not word.split("=", 1)[0].replace("_", "a").isalnum():
            raise JobError(f"a script's env lists NAME or NAME=value, not {masked(word)!r:.100}")


def _check_text(name: str, text: str) -> None:
    """What comes with the shard must be something that a program can be handed."""
    if "\0" in text:
        raise JobError(f"{name} has a NUL in it, which no program can be handed")
    try:
        size = len(f"{name}={text}\0".encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        raise JobError(f"{name} has half of a character in it, which no program can be handed") from None
    if size > LONGEST_TEXT:
        raise JobError(
            f"{name} is too long to be handed to a program ({size:,} bytes): "
            "keep what is large elsewhere, and its name in the parameter"
        )


def _without(line: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        line = line.replace(secret, MASK)
    return line
