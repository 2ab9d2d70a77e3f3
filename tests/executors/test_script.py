"""Scripts: what they are told, how they fail, and what is not run at all."""

import json
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from shardwright import Shard
from shardwright.errors import Cancelled, Failed, JobError
from shardwright.executors.script import Script
from tests.test_shard import a_shard

# Tells what it was handed, all of it, as JSON in the file named by its first argument.
TELL = f"""#!{sys.executable} -IS
import json, os, sys
told = {{"argv": sys.argv[2:], "env": dict(os.environ), "stdin": sys.stdin.read()}}
with open(sys.argv[1], "w") as file:
    json.dump(told, file)
"""

AWKWARD = [
    "'; touch {canary}; '",
    '"; touch {canary}; "',
    "$(touch {canary})",
    "`touch {canary}`",
    "${{IFS}}touch${{IFS}}{canary}",
    "a\ntouch {canary}\n",
    "a\r\ntouch {canary}",
    "| touch {canary}",
    "&& touch {canary}",
    "> {canary}",
    "--output={canary}",
    "-rf",
    "-",
    "*",
    "~root",
    "%PATH%",
    "LD_PRELOAD=/tmp/evil.so",
    '{{"shardingItem":0}}',
    "\\",
    "😀 Köln \u202e\u0000"[:-1],
    "x" * 100_000,
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "jobs"
    folder.mkdir(mode=0o755)
    return folder


def a_script(folder: Path, text: str, name: str = "job") -> str:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def leased(**changes: object) -> Shard:
    return a_shard(_lease=lambda: 60.0, **changes)


def told_to(shard: Shard, folder: Path, *more: str, **options: object) -> dict[str, object]:
    """What a script is handed for a shard."""
    answer = folder.parent / "answer"
    Script([a_script(folder, TELL), str(answer), *more], folders=[folder], **options)(shard)  # type: ignore[arg-type]
    told: dict[str, object] = json.loads(answer.read_text())
    return told


# What they are told


def test_a_script_is_told_the_shard_by_standard_input_and_in_its_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {"PATH": "/bin", "SECRET": "s3cr3t", "REGION": "eu"})
    shard = leased()
    told = told_to(shard, folder, "--full", env=["REGION", "MODE=nightly", "MISSING"])
    assert told["argv"] == ["--full"]
    assert told["stdin"] == shard.as_json()
    env = told["env"]
    assert isinstance(env, dict)
    env.pop("LC_CTYPE", None)  # Python adds it
    assert env == {
        "PATH": "/bin",
        "REGION": "eu",
        "MODE": "nightly",
        "SHARDWRIGHT_JOB": "reindex",
        "SHARDWRIGHT_ITEM": "1",
        "SHARDWRIGHT_TOTAL": "3",
        "SHARDWRIGHT_PARAMETER": "Köln",
        "SHARDWRIGHT_JOB_PARAMETER": "all",
        "SHARDWRIGHT_FIRE_TIME": "2030-01-01T00:00:00+00:00",
        "SHARDWRIGHT_TOKEN": "7",
        "SHARDWRIGHT_ATTEMPT": "2",
        "SHARDWRIGHT_SOURCE": "failover",
        "SHARDWRIGHT_SHARD": shard.as_json(),
    }


def test_a_script_of_elasticjob_finds_the_context_in_its_last_argument(folder: Path) -> None:
    shard = leased()
    assert told_to(shard, folder, "a", elasticjob=True)["argv"] == ["a", shard.sharding_context()]


def test_a_command_line_of_elasticjob_is_split_and_nothing_in_it_is_expanded(folder: Path) -> None:
    program, answer = a_script(folder, TELL), folder.parent / "answer"
    line = f"""{program} {answer} 'one word' $HOME * ; "a'b" """
    shard = leased()
    Script.of_command_line(line, folders=[folder])(shard)
    context = shard.sharding_context()
    assert json.loads(answer.read_text())["argv"] == ["one word", "$HOME", "*", ";", "a'b", context]
    with pytest.raises(JobError, match="cannot be read: No closing quotation"):
        Script.of_command_line("job 'x", folders=[folder])


@pytest.mark.parametrize("text", AWKWARD, ids=lambda text: ascii(text[:20]))
def test_what_stands_in_a_parameter_is_data_and_arrives_to_the_letter(folder: Path, text: str) -> None:
    canary = folder.parent / "canary"
    parameter = text.format(canary=canary)
    shard = leased(parameter=parameter, job_parameter=parameter if len(parameter) < 9_999 else "")
    told = told_to(shard, folder, parameter, elasticjob=True)
    env = told["env"]
    assert isinstance(env, dict)
    assert told["argv"] == [parameter, shard.sharding_context()]
    assert env["SHARDWRIGHT_PARAMETER"] == parameter
    assert told["stdin"] == shard.as_json()
    assert "LD_PRELOAD" not in env
    assert not canary.exists()


@pytest.mark.parametrize(
    ("parameter", "why"),
    [
        ("a\0b", "has a NUL in it"),
        ("x" * 1_000_000, "is too long"),
        ("\ud800", "has half of a character in it"),
    ],
    ids=["nul", "megabyte", "surrogate"],
)
def test_what_no_program_can_be_handed_fails_the_run(folder: Path, parameter: str, why: str) -> None:
    with pytest.raises(Failed, match=f"reindex, shard 1: SHARDWRIGHT_PARAMETER {why}"):
        told_to(leased(parameter=parameter), folder)
    assert not (folder.parent / "answer").exists()


# How they fail


def test_an_exit_code_other_than_0_fails_with_the_last_lines_of_stderr(folder: Path) -> None:
    text = "#!/bin/sh\nfor i in $(seq 30); do echo line $i >&2; done\necho password=hunter2 >&2\nexit 3\n"
    with pytest.raises(Failed) as failed:
        Script([a_script(folder, text)], folders=[folder])(leased())
    first, *lines = str(failed.value).splitlines()
    assert first == "reindex, shard 1: its script ended with exit code 3"
    assert lines == [*(f"line {number}" for number in range(12, 31)), "password=***"]


def test_a_script_that_is_killed_fails(folder: Path) -> None:
    with pytest.raises(Failed, match="its script was killed by SIGSEGV"):
        Script([a_script(folder, "#!/bin/sh\nkill -SEGV $$\n")], folders=[folder])(leased())


def test_a_script_that_is_told_to_stop_is_cut_short_whatever_it_says(folder: Path) -> None:
    shard = leased()
    os.mkfifo(folder / "begun")
    text = f"#!/bin/sh\ntrap 'exit 0' TERM\necho x > {folder}/begun\nwhile :; do sleep 0.01; done\n"
    script = Script([a_script(folder, text)], folders=[folder])

    def cancel() -> None:
        (folder / "begun").read_text()
        shard.cancel()

    threading.Thread(target=cancel).start()
    with pytest.raises(Cancelled, match="reindex, shard 1: its script was told to stop"):
        script(shard)


def test_what_a_script_prints_is_logged_without_the_secrets_it_was_handed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("API_TOKEN", "c4n4ry-in-the-mine")
    script = Script(
        [a_script(folder, "#!/bin/sh\necho got $API_TOKEN and $KEY\nexit 1\n")],
        folders=[folder],
        env=["API_TOKEN", "KEY=another-c4n4ry"],
    )
    with caplog.at_level(logging.DEBUG), pytest.raises(Failed) as failed:
        script(leased())
    assert "reindex: shard 1: got *** and ***" in caplog.text
    assert "c4n4ry" not in caplog.text + str(failed.value) + repr(script)


def test_a_secret_of_several_lines_is_hidden_line_by_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PRIVATE_KEY", "-----BEGIN KEY-----\nc4n4ry+1\nc4n4ry+2\n-----END KEY-----\n")
    text = '#!/bin/sh\necho "$PRIVATE_KEY"\n'
    with caplog.at_level(logging.DEBUG):
        Script([a_script(folder, text)], folders=[folder], env=["PRIVATE_KEY"])(leased())
    assert "reindex: shard 1: ***" in caplog.text
    assert "c4n4ry" not in caplog.text


def test_what_a_script_prints_is_logged_without_the_secrets_of_its_jobs_settings(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script = Script([a_script(folder, "#!/bin/sh\necho c4n4ry\necho c4n4ry >&2\nexit 1\n")], folders=[folder])
    with caplog.at_level(logging.DEBUG), pytest.raises(Failed) as failed:
        script(leased(_hide=lambda text: text.replace("c4n4ry", "***")))
    assert "reindex: shard 1: ***" in caplog.text
    assert "c4n4ry" not in caplog.text + str(failed.value)


# What is not run


def test_a_script_is_a_list_and_not_a_line_for_a_shell(folder: Path) -> None:
    with pytest.raises(JobError, match=r"a list of program and arguments.*\['job', 'a b'\]"):
        Script("job 'a b'", folders=[folder])
    with pytest.raises(JobError, match="needs a program"):
        Script([], folders=[folder])
    with pytest.raises(JobError, match="cannot have a NUL"):
        Script([a_script(folder, TELL), "a\0"], folders=[folder])
    with pytest.raises(JobError, match="NAME or NAME=value"):
        Script([a_script(folder, TELL)], folders=[folder], env=["A B"])


def test_scripts_are_off_until_folders_are_listed(folder: Path) -> None:
    with pytest.raises(JobError, match="scripts are off until the operator lists the folders"):
        Script([a_script(folder, TELL)], folders=[])


def test_a_name_alone_is_looked_for_in_the_folders_listed(folder: Path) -> None:
    a_script(folder, "#!/bin/sh\n")
    Script(["job"], folders=["/nowhere", folder])(leased())
    with pytest.raises(JobError, match="it is not there, in none of"):
        Script(["another"], folders=[folder])


def test_what_is_elsewhere_is_refused_by_whatever_way_it_is_named(folder: Path) -> None:
    outside = a_script(folder.parent, "#!/bin/sh\n", "outside")
    (folder / "link").symlink_to(outside)
    (folder / "up").symlink_to("..")
    for name in (outside, "../outside", f"{folder}/../outside", "link", "up/outside", "/bin/sh"):
        with pytest.raises(JobError, match=r"is refused: it is .*, in none of"):
            Script([name], folders=[folder])


def test_a_link_to_a_script_within_the_folders_is_one(folder: Path) -> None:
    a_script(folder, "#!/bin/sh\n")
    (folder / "link").symlink_to("job")
    Script(["link"], folders=[folder])(leased())


def test_what_others_could_have_written_is_refused(folder: Path) -> None:
    program = Path(a_script(folder, "#!/bin/sh\n"))
    for mode, why in [
        (0o775, "others may write it"),
        (0o757, "others may write it"),
        (0o644, "is not executable"),
        (0o4755, "it runs as somebody else"),
    ]:
        program.chmod(mode)
        with pytest.raises(JobError, match=why):
            Script([str(program)], folders=[folder])
    program.chmod(0o755)
    for mode in (0o775, 0o1777):
        folder.chmod(mode)
        with pytest.raises(JobError, match=f"others may write to {folder}"):
            Script([str(program)], folders=[folder])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_belongs_to_somebody_else_is_refused(folder: Path) -> None:
    program = a_script(folder, "#!/bin/sh\n")
    os.chown(program, 12345, -1)
    with pytest.raises(JobError, match="belongs to user 12345, and must to root"):
        Script([program], folders=[folder])
    os.chown(program, 0, -1)
    os.chown(folder, 12345, -1)
    with pytest.raises(JobError, match=f"{folder} belongs to user 12345"):
        Script([program], folders=[folder])


def test_a_script_is_looked_at_again_for_every_run(folder: Path) -> None:
    program = Path(a_script(folder, "#!/bin/sh\n"))
    script = Script([str(program)], folders=[folder])
    script(leased())
    program.chmod(0o777)
    with pytest.raises(Failed, match=r"reindex, shard 1: the script .* is refused: others may write it"):
        script(leased())
    program.unlink()
    program.symlink_to("/bin/sh")
    with pytest.raises(Failed, match="in none of"):
        script(leased())


def test_a_folder_or_what_is_no_program_is_refused(folder: Path) -> None:
    (folder / "inner").mkdir()
    with pytest.raises(JobError, match="it is no file"):
        Script(["inner"], folders=[folder])
    os.mkfifo(folder / "pipe")
    with pytest.raises(JobError, match="it is no file"):
        Script(["pipe"], folders=[folder])
    with pytest.raises(Failed, match="nor does it begin with #!"):
        Script([a_script(folder, "echo no first line\n")], folders=[folder])(leased())


def test_a_program_put_in_the_place_of_one_that_was_looked_at_is_never_run(folder: Path) -> None:
    """Good and evil change places all the time; the evil one would make a file, and may be written by all."""
    good, evil, program = folder / "good", folder / "evil", folder / "job"
    shutil.copy(str(shutil.which("true")), good)
    shutil.copy(str(shutil.which("touch")), evil)
    shutil.copy(good, program)
    evil.chmod(0o777)
    script = Script([str(program), str(folder / "canary")], folders=[folder])
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for other in (evil, good):
                (folder / "next").hardlink_to(other)
                (folder / "next").replace(program)

    swapping = threading.Thread(target=swap)
    swapping.start()
    outcomes: Counter[str] = Counter(ran=0, refused=0)
    try:
        while min(outcomes.values()) < 20:
            try:
                script(leased())
                outcomes["ran"] += 1
            except Failed:
                outcomes["refused"] += 1
    finally:
        over.set()
        swapping.join()
    assert not (folder / "canary").exists()
    subprocess.run([evil, folder / "canary"], check=True)  # it would have
    assert (folder / "canary").exists()
