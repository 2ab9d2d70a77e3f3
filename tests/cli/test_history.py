"""`shardwright history` and `shardwright why`, on a real store, and on what real schedulers have told it."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from shardwright.history.engine import open_engine
from shardwright.history.events import Logged
from shardwright.history.ledger import Disposition, Entry, Try, Verdict
from shardwright.history.store import Store
from shardwright.history.tables import VERSION_TABLE
from shardwright.outcomes import FAILED, OK
from tests.history.fires import FIRE, ME, OTHER, T, a_key, a_run, after, an_attempt
from tests.stories.telling import EVERY_SECOND, ONCE_A_YEAR, A, Story

from . import schemas
from .calling import Calling, shardwright

HOUR = 3600.0


def a_failure() -> Entry:
    attempt = an_attempt(
        "f1", ended=1, outcome=FAILED, failure="Traceback\nValueError: no index", at=after(HOUR)
    )
    return Entry(a_key(at=after(HOUR)), after(HOUR), (attempt,))


def a_takeover() -> Entry:
    lost = an_attempt("t1", ended=3, outcome="lost")
    ran = an_attempt("t2", by=OTHER, number=2, began=4, ended=5, outcome=OK, source="failover")
    return Entry(a_key(1), T, (lost, ran))


def skipped() -> Entry:
    verdict = Verdict(Disposition.SKIPPED, after(2 * HOUR), "the shard is disabled")
    return Entry(a_key(at=after(2 * HOUR)), after(2 * HOUR), (), verdict)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


@pytest.fixture
def told(alone: Calling, file: Path) -> Calling:
    """Whoever calls, with a history beside the registry in which a few fires are told of."""
    lines = Logged(
        at=T, job="reindex", made=7, fire=FIRE, item=0, attempt="reindex-01020000-0", text="one\ntwo"
    )
    with Store(file) as store:
        store.write([a_run(), a_takeover(), a_failure(), skipped(), a_run(job="mail")], [lines])
    return alone


# history


def test_fires_are_told_the_latest_first_with_every_attempt(told: Calling) -> None:
    page = told.document(schemas.Fires, "history", "reindex")
    assert [(each.due, each.shard, each.disposition, each.outcome) for each in page.fires] == [
        (after(2 * HOUR), 0, "SKIPPED", ""),
        (after(HOUR), 0, "RAN", FAILED),
        (T, 0, "RAN", OK),
        (T, 1, "FAILED_OVER", OK),
    ]
    assert [(each.process, each.outcome) for each in page.fires[3].attempts] == [(ME, "lost"), (OTHER, OK)]
    assert not page.more


def test_the_table_says_what_became_of_each_and_why(told: Calling) -> None:
    title, *lines = told("history", "reindex").splitlines()
    assert title.split() == ["FIRE", "JOB", "SHARD", "WHAT", "BEGAN", "TOOK", "LATE", "PROCESS", "WHY"]
    assert [line.split()[0] for line in lines] == [
        each.isoformat() for each in (after(2 * HOUR), after(HOUR), T, T)
    ]
    assert lines[0].endswith("the shard is disabled")
    assert lines[1].endswith("ValueError: no index")
    assert "FAILED_OVER ok" in lines[3]
    assert f"{after(4):%H:%M:%S}" in lines[3]  # when the run began that came to its end, and took so long


def test_the_shards_of_a_fire_are_told_one_after_the_other(alone: Calling, file: Path) -> None:
    with Store(file) as store:
        store.write([a_run(item, at=at) for item in (5, 0, 3, 1, 4, 2) for at in (T, after(HOUR))])
    told = alone.plain("history")["fires"]
    assert [each["shard"] for each in told] == [*range(6), *range(6)]
    assert [each["fire"] for each in told] == [after(HOUR).isoformat()] * 6 + [T.isoformat()] * 6


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--shard", "1"], ["FAILED_OVER"]),
        (["--disposition", "skipped"], ["SKIPPED"]),
        (["--outcome", "failed"], ["RAN"]),
        (["--from", after(HOUR).isoformat()], ["SKIPPED", "RAN"]),
        (["--to", after(HOUR).isoformat(), "--shard", "0"], ["RAN"]),
        (["--server", "10.0.0.2"], ["FAILED_OVER"]),
        (["--server", ME], ["RAN", "RAN"]),
        (["--outcome", "timed out"], []),
    ],
)
def test_some_of_the_fires_are_chosen(told: Calling, options: list[str], found: list[str]) -> None:
    page = told.document(schemas.Fires, "history", "reindex", *options)
    assert [each.disposition for each in page.fires] == found


def test_where_there_is_more_that_is_said(told: Calling) -> None:
    assert told.document(schemas.Fires, "history", "--limit", "1").more
    assert "There is more" in told("history", "--limit", "1")
    assert told("history", "reindex", "--outcome", "timed out") == "Nothing is known of such a fire.\n"


def test_what_a_run_logged_is_shown_where_it_is_asked_for(told: Calling) -> None:
    choice = ("history", "reindex", "--outcome", "ok", "--shard", "0")
    (fire,) = told.document(schemas.Fires, *choice, "--log").fires
    assert fire.attempts[0].log == schemas.Log(text="one\ntwo", left_out=0)
    assert told.document(schemas.Fires, *choice).fires[0].attempts[0].log is None
    assert told(*choice, "--log").endswith(f"shard 0, on {ME}:\none\ntwo\n")


def test_tries_that_others_followed_are_told(told: Calling, file: Path) -> None:
    tries = (Try(1, T, after(1), FAILED, "ConnectionError: down"), Try(2, after(2), after(3), FAILED, "x"))
    attempt = replace(an_attempt(ended=4, outcome=OK), tries=tries)
    with Store(file) as store:
        store.write([Entry(a_key(job="flaky"), T, (attempt,))])
    (fire,) = told.document(schemas.Fires, "history", "flaky").fires
    assert (fire.took, [each.failure for each in fire.attempts[0].tries]) == (
        4,
        ["ConnectionError: down", "x"],
    )
    assert "not at the first try: 2 went wrong" in " ".join(told("history", "flaky").split())
    assert "failed (ConnectionError: down) at try 1" in " ".join(told("why", "flaky", FIRE).split())


def test_fires_are_counted_by_job_and_day(told: Calling) -> None:
    counts = told.document(schemas.Counts, "history", "--statistics").counts
    assert sorted((each.job, each.disposition, each.outcome, each.fires) for each in counts) == [
        ("mail", "RAN", OK, 1),
        ("reindex", "FAILED_OVER", OK, 1),
        ("reindex", "RAN", FAILED, 1),
        ("reindex", "RAN", OK, 1),
        ("reindex", "SKIPPED", "", 1),
    ]
    assert {each.day for each in counts} == {T.date()}
    assert told("history", "mail", "--statistics").splitlines()[1].split()[:4] == [
        T.date().isoformat(),
        "mail",
        "RAN",
        OK,
    ]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--from", "yesterday"], "write it as 2026-03-29T00:00:00+01:00"),
        (["--from", "2030-01-01"], "add an offset, such as 2030-01-01T00:00:00+00:00"),
        (["--to", "9999-12-31T23:59:59-05:00"], "write it as"),
        (["--from", FIRE, "--to", FIRE], "--from must be before --to"),
        (["--shard", "-1"], "Invalid value for '--shard'"),
        (["--limit", "0"], "Invalid value for '--limit'"),
        (["--disposition", "GONE"], "'GONE' is not one of"),
        (["--statistics", "--audit"], "ask one of them"),
        (["--statistics", "--shard", "1"], "--shard does not go with --statistics"),
        (["--statistics", "--limit", "1"], "--limit does not go with --statistics"),
        (["--audit", "--log"], "--log does not go with --audit"),
    ],
)
def test_a_question_that_makes_no_sense_is_wrong_usage(told: Calling, options: list[str], why: str) -> None:
    assert why in told.refused("history", *options, code=2)


@pytest.mark.parametrize(
    "question", [["history", "--shard", str(2**64)], ["history", "\udcff"], ["why", "\udcff"]]
)
def test_what_no_history_can_know_is_refused_in_a_sentence(told: Calling, question: list[str]) -> None:
    assert "the history at sqlite:///" in told.refused(*question)


@pytest.mark.parametrize(
    "command", [["history"], ["history", "--statistics"], ["history", "--audit"], ["why"]]
)
def test_a_job_that_nobody_knows_is_refused(told: Calling, command: list[str]) -> None:
    said = told.refused(*command, "reindx")
    assert "neither the history nor the registry knows a job 'reindx'; did you mean 'reindex'?" in said


def test_a_registry_that_cannot_be_asked_keeps_nothing_from_being_told(told: Calling, file: Path) -> None:
    elsewhere = Calling(f"sqlite://{file.with_name('gone.db')}")
    beside = ("--history", f"sqlite:///{file}")
    assert elsewhere("history", "reindex", *beside) == told("history", "reindex")
    said = elsewhere.refused("history", "nobody", *beside)
    assert "the history knows no job 'nobody', and the registry could not be asked for it" in said


# Which history


def test_a_history_that_is_not_there_is_not_made_by_asking(alone: Calling, file: Path) -> None:
    for command in (["history"], ["why", "reindex"]):
        said = alone.refused(*command, code=3)
        assert f"there is no history at {file}: name one by --history, SHARDWRIGHT_HISTORY" in said
    other = file.with_name("other.db")
    assert f"there is no history at {other}" in alone.refused(
        "history", "--history", f"sqlite:///{other}", code=3
    )
    assert not file.exists()
    assert not other.exists()


def test_tables_are_not_made_by_asking_either(alone: Calling, file: Path) -> None:
    open_engine(file).dispose()
    before = file.read_bytes()
    assert f"there is no history at sqlite:///{file}" in alone.refused("history", code=3)
    assert file.read_bytes() == before


def test_a_registry_that_is_no_file_has_no_history_beside_it() -> None:
    answer = shardwright("history", "--registry", "zookeeper://127.0.0.1:1/prod")
    assert (answer.code, answer.out) == (3, "")
    assert "there is no history: name one by --history" in answer.err


def test_the_option_goes_before_the_environment_and_that_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = {}
    for job in ("option", "environment", "file"):
        addresses[job] = f"sqlite:///{tmp_path / job}.db"
        with Store(addresses[job]) as store:
            store.write([a_run(job=job)])
    (tmp_path / "shardwright.toml").write_text(f'history = "{addresses["file"]}"')
    monkeypatch.chdir(tmp_path)
    environment: dict[str, str | None] = {"SHARDWRIGHT_HISTORY": addresses["environment"]}
    assert " file " in shardwright("history").out
    assert " environment " in shardwright("history", env=environment).out
    assert " option " in shardwright("history", "--history", addresses["option"], env=environment).out


@pytest.mark.parametrize(
    ("address", "code", "why"),
    [
        ("nowhere:hunter2", 2, "the history's address cannot be read"),
        ("redis://ann:hunter2@host/0", 2, "a history can be kept in sqlite, postgresql, mysql"),
        ("sqlite://", 2, "a history is kept in a file"),
        ("postgresql://ann:hunter2@127.0.0.1:1/prod", 3, "ann:***@127.0.0.1:1/prod cannot be opened"),
    ],
)
def test_an_address_without_a_history_is_told_and_no_password_is_repeated(
    alone: Calling, address: str, code: int, why: str
) -> None:
    said = alone.refused("history", "--history", address, code=code)
    assert why in said
    assert "hunter2" not in said


def test_without_the_extra_that_a_history_needs_it_is_named(file: Path) -> None:
    ask = "import sys; sys.modules['sqlalchemy'] = None; from shardwright.cli import main; main()"
    command = [sys.executable, "-c", ask, "history", "--history", f"sqlite:///{file}"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr == "Error: a history needs an extra: pip install 'shardwright[trace]'\n"


def test_without_the_extra_it_is_named_also_where_no_history_is_asked_for_by_name(alone: Calling) -> None:
    ask = "import sys; sys.modules['sqlalchemy'] = None; from shardwright.cli import main; main()"
    command = [sys.executable, "-c", ask, "history", "--registry", alone.url]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert "pip install 'shardwright[trace]', where the schedulers run too" in ended.stderr


def test_without_the_driver_that_a_history_needs_its_extra_is_named(alone: Calling) -> None:
    ask = "import sys; sys.modules['psycopg'] = None; from shardwright.cli import main; main()"
    command = [sys.executable, "-c", ask, "history", "--history", "postgresql://ann@127.0.0.1:1/prod"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert "a history in postgresql needs a driver that is not installed" in ended.stderr


@pytest.mark.parametrize("url", ["sqlite://jobs.db", "sqlite:///"])
def test_beside_a_registry_that_names_no_file_there_is_nothing(url: str) -> None:
    answer = shardwright("history", "--registry", url)
    assert (answer.code, answer.out) == (2, "")
    assert "name a file by its whole path after three slashes" in answer.err


def test_a_history_of_a_newer_version_is_left_alone(told: Calling, file: Path) -> None:
    engine = open_engine(file)
    with engine.begin() as connection:
        connection.execute(text(f"update {VERSION_TABLE} set version_num = '9999'"))
    engine.dispose()
    for command in (["history"], ["why", "reindex"]):
        assert "made by a newer Shardwright" in told.refused(*command)


# why


def test_a_fire_is_explained_in_words(told: Calling) -> None:
    assert told("why", "reindex", FIRE) == (
        f"reindex at {FIRE}: 2 shards came out well, 1 taken over by another member.\n"
        f"  shard 1: attempt 1 began at {FIRE} on {ME} and was lost with its member at "
        f"{after(3).isoformat()}. attempt 2 began at {after(4).isoformat()} on {OTHER} and came out well at "
        f"{after(5).isoformat()}.\n"
    )
    assert told("why", "reindex", FIRE, "--shard", "0").startswith(f"reindex at {FIRE}: it ran on time")
    assert told("why", "reindex", "2030-01-01T03:00:00+01:00") == told("why", "reindex", FIRE)


def test_without_a_time_it_is_the_last_fire(told: Calling) -> None:
    answer = told.document(schemas.Why, "why", "reindex")
    assert (answer.fire, answer.known, answer.timetable) == (after(2 * HOUR).isoformat(), True, None)
    assert [each.disposition for each in answer.shards] == ["SKIPPED"]
    assert answer.words.endswith("it was skipped: the shard is disabled.")
    assert told("why", "reindex", "last") == f"{answer.words}\n"


def test_a_run_in_the_way_is_named_also_where_one_shard_is_asked_about(alone: Calling, file: Path) -> None:
    first = Entry(a_key(), T, (an_attempt("long", ended=90, outcome=OK),))
    late = a_run(at=after(60), late=30)
    with Store(file) as store:
        store.write([first, late, a_run(1, at=after(60))])
    said = alone("why", "reindex", after(60).isoformat(), "--shard", "0")
    assert f"because the run before, of {FIRE}, went on until {after(90).isoformat()}" in said
    assert said.splitlines()[1] in alone("why", "reindex")


def test_of_a_time_that_nothing_is_known_of_the_schedule_is_told(calls: Calling, story: Story) -> None:
    with Store(Path(story.url.removeprefix("sqlite://")).with_name("history.db")):
        pass  # nobody has fired yet
    past = "2020-05-01T00:00:00+00:00"
    answer = calls.document(schemas.Why, "why", "reindex", past, code=1)
    assert (answer.known, answer.shards) == (False, [])
    assert answer.timetable is not None
    assert not answer.timetable.fires_then
    assert answer.words.endswith(
        f"By its schedule of today, {ONCE_A_YEAR!r}, it does not fire then: the last time before is "
        "2020-01-01T00:00:00+00:00, the next is 2021-01-01T00:00:00+00:00."
    )
    assert "it was due then." in calls("why", "reindex", "2020-01-01T00:00:00Z", code=1)
    assert "which is still to come." in calls("why", "reindex", "2100-01-01T00:00:00Z", code=1)
    for none, words in ([], "nothing is known of any fire of it yet"), (["#3"], "asked for as #3"):
        said = calls("why", "reindex", *none, code=1)
        assert words in said
        assert f"By its schedule of today, {ONCE_A_YEAR!r}, it fires next at 20" in said


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_the_first_and_the_last_moment_there_are_can_be_asked_about(
    calls: Calling, file: Path, time: str
) -> None:
    Store(file).close()
    assert "it does not fire then" in calls("why", "reindex", time, code=1)
    assert calls("history", "--from", time) == "Nothing is known of such a fire.\n"
    for option in ("--from", "--to"):
        assert calls("history", "--statistics", option, time) == "Nothing is counted there.\n"


def test_of_a_job_that_the_registry_has_not_no_schedule_is_told(told: Calling) -> None:
    answer = told.document(schemas.Why, "why", "reindex", "2020-05-01T00:00:00+00:00", code=1)
    assert answer.timetable is None
    assert answer.words.endswith("the registry cannot be asked, or has no such job.")


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["reindex", "yesterday"], 2, "write it as 2026-03-29T00:00:00+01:00"),
        (["reindex", "2030-01-01T02:00:00"], 2, "add an offset, such as 2030-01-01T02:00:00+00:00"),
        (
            ["reindex", FIRE, "--shard", "7"],
            1,
            "nothing is known of a shard 7 of that fire; its shards are: 0, 1",
        ),
        ([], 2, "Missing argument 'JOB'"),
    ],
)
def test_a_fire_that_cannot_be_is_not_explained(
    told: Calling, arguments: list[str], code: int, why: str
) -> None:
    assert why in told.refused("why", *arguments, code=code)


# What real schedulers tell


def test_what_schedulers_ran_is_in_the_history_beside_their_registry(story: Story) -> None:
    story.start(A, "tick", cron=EVERY_SECOND, time_zone="UTC")
    story.next_fire(1, "tick")
    story.close()
    calls = Calling(story.url)
    ran = [each for each in calls.document(schemas.Fires, "history", "tick").fires if each.outcome == OK]
    assert {each.process.partition("@-@")[0] for each in ran} == {A}
    assert calls.document(schemas.Why, "why", "tick", ran[0].fire).words.startswith(
        f"tick at {ran[0].fire}: "
    )
