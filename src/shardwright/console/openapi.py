"""`python -m shardwright.console.openapi [FILE]` writes the description of the API, from which the page's
typed client is made. The same code writes the same bytes; `--check` only says whether they are there."""

import json
import sys
import tempfile
from pathlib import Path

from ..clock import SystemClock
from .accounts import Accounts
from .app import build
from .desk import Desk
from .gate import Gate

FILE = Path("console-ui/openapi.json")


def description() -> str:
    """The description as it is written."""
    with tempfile.TemporaryDirectory() as folder, Desk(()) as desk:
        app = build(Gate(Accounts(Path(folder) / "accounts.json", SystemClock()), {}), desk)
        told = app.openapi()
    told["info"]["version"] = "0"  # another version of ours is no other API
    return json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    named = [Path(each) for each in arguments if not each.startswith("--")]
    file, text = (named or [FILE])[0], description()
    if check:
        same = file.exists() and file.read_text(encoding="utf-8") == text
        if not same:
            print(f"{file} is not what the code says: python -m shardwright.console.openapi")
        return 0 if same else 1
    file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
