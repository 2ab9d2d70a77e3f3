"""What happens when a wheel or an sdist is built: the console's page is put in.

It is built by Vite into src/shardwright/console/static, which is not in version control. Whoever installs
from an sdist finds it there, and needs no Node.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WITHOUT = "SHARDWRIGHT_WITHOUT_UI"


class PageHook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page if it is missing; an editable install can do without."""
        root = Path(self.root)
        if version == "editable" or (root / "src/shardwright/console/static/index.html").exists():
            return
        if os.environ.get(WITHOUT) == "1":
            self.app.display_warning(f"{WITHOUT}=1: the console of this build has no page")
            return
        npm = shutil.which("npm")
        if npm is None:
            raise SystemExit(
                "the console's page is not built, and there is no npm to build it: "
                f"install Node 20.19 or newer, or run `make ui`, or set {WITHOUT}=1 to build without it"
            )
        for arguments in (["ci", "--no-audit", "--no-fund"], ["run", "build"]):
            subprocess.run([npm, *arguments], cwd=root / "console-ui", check=True)
