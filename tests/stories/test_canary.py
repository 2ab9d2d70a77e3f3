"""The canary: a secret that a job is given appears in nothing that people read.

That is: no record of any logger, at any level; no node of the registry, be it deleted by now; no line of the
history; no dump; no `repr` of a scheduler, a job or its settings; nothing printed; no alert. It does appear
where it is the credential itself and on its way to whom it is for: in a header, a URL that is called, or a
login.
"""

import logging
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from kazoo.client import KazooClient

from shardwright import ConfigError, JobError, Scheduler, Shard
from shardwright.executors.script import Script
from shardwright.ops import dump as dumps
from shardwright.registry import connect
from tests.alerts.post_office import PostOffice
from tests.alerts.web import Posted, Web

from . import workers
from .telling import A, Story
from .watching import Ends

CANARY = "c4n4ry-1n-the-m1ne"
REFERENCE = "${env:X_CANARY}"


class Mine:
    """Where the canary is let loose, and everything that is looked through for it afterwards."""

    def __init__(
        self, story: Story, folder: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
    ) -> None:
        self.story = story
        self.web = Web()
        self.scheduler = Scheduler(
            story.url,
            address=A,
            grace=2.0,
            script_folders=[folder / "jobs"],
            history=folder / "kept.db",
            http_allowed=[self.web.url.removeprefix("http://")],
        )
        self._caplog, self._capfd, self._history = caplog, capfd, folder / "kept.db"

    def hook(self) -> dict[str, str]:
        """Props of a job whose alerts are posted here, under a token that is the secret."""
        return {"webhook.url": f"{self.web.url}/alerts", "webhook.token": REFERENCE}

    def run(self, declare: Callable[[Scheduler], None]) -> None:
        """Have a job declared, run, and fail."""
        with self.scheduler:
            declare(self.scheduler)
            self.shown = self._shown()
            self.scheduler.trigger("job")
            Ends(self.story).until("failed")

    def alerts(self) -> list[Posted]:
        return [posted for posted in self.web.posted.all if posted.target == "/alerts"]

    def shows(self) -> list[str]:
        """Where the secret is to be seen."""
        records = [f"{record.getMessage()} {record.__dict__} " for record in self._caplog.records]
        places = {
            "log": " ".join(records) + self._caplog.text,
            "output": f"{self._capfd.readouterr()}",
            "repr": self.shown + self._shown(),
            "registry": dump(self.story.url),
            "history": _of_file(self._history),
            "dump": self._dump(),
            "alert": " ".join(f"{posted.target} {posted.body.decode()}" for posted in self.alerts()),
        }
        assert "job" in places["log"]
        assert "job" in places["repr"]
        assert "job" in places["registry"]
        assert "failed" in places["history"]
        assert "config" in places["dump"]
        return [place for place, text in places.items() if CANARY in text]

    def _dump(self) -> str:
        """As `shardwright dump` and ElasticJob's dump port give it."""
        with connect(self.story.url) as registry:
            return "\n".join(dumps.of(registry, "job"))

    def _shown(self) -> str:
        jobs = self.scheduler.jobs
        shown = [self.scheduler, jobs, *(job.config for job in jobs), *(job.config.masked() for job in jobs)]
        bodies = [job.body(job.config) for job in jobs]
        return " ".join(f"{each!r} {each!s}" for each in [*shown, *bodies])


def dump(url: str) -> str:
    """All there is in the registry, by other means than our own."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return _of_file(Path(parts.path))
    client = KazooClient(parts.netloc, logger=logging.getLogger("dump"))
    client.start()
    try:
        names = [name for name in client.get_children("/") if name.startswith(parts.path.strip("/"))]
        return "\n".join(line for name in names for line in _of_node(client, f"/{name}"))
    finally:
        client.stop()
        client.close()


def _of_node(client: KazooClient, path: str) -> Iterator[str]:
    data, _ = client.get(path)
    yield f"{path} {data.decode()}"
    for name in client.get_children(path):
        yield from _of_node(client, f"{path}/{name}")


def _of_file(path: Path) -> str:
    """Its bytes, with those of what was deleted, and its rows: a long text may not be in one piece."""
    files = [file for file in path.parent.glob(f"{path.name}*") if file.is_file()]
    whole = b"\n".join(file.read_bytes() for file in files)
    copy = path.parent / "copy"
    copy.mkdir(exist_ok=True)
    for file in files:
        shutil.copy(file, copy / file.name)
    database = sqlite3.connect(copy / path.name)
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    rows = [row for table in tables for row in database.execute(f'SELECT * FROM "{table}"')]
    database.close()
    return f"{whole.decode(errors='replace')}\n{rows}"


@pytest.fixture
def mine(
    story: Story,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Mine]:
    monkeypatch.setenv("X_CANARY", CANARY)
    caplog.set_level(logging.DEBUG)
    here = Mine(story, tmp_path, caplog, capfd)
    with here.web:
        yield here


def talk(shard: Shard) -> None:
    """Say the secret as people say it, by mistake."""
    try:
        raise KeyError(f"api_key={CANARY}")
    except KeyError as error:
        text = f"cannot log in to postgresql://app:{CANARY}@db/app with password={CANARY}"
        raise PermissionError(text) from error


def blurt(shard: Shard) -> None:
    """Say the secret and nothing that would show it to be one."""
    raise RuntimeError(f"{CANARY} is not accepted, said the server: {CANARY}!")


def test_a_secret_that_an_exception_tells_is_masked_by_its_shape(mine: Mine) -> None:
    mine.run(
        lambda scheduler: scheduler.add(
            talk, "job", retries=1, retry_delay="50ms", error_handler="WEBHOOK", props=mine.hook()
        )
    )
    assert mine.shows() == []
    assert [each.headers["Authorization"] for each in mine.alerts()] == [f"Bearer {CANARY}"]


@pytest.mark.parametrize("handler", ["LOG", "WEBHOOK", "THROW"])
def test_a_secret_that_the_settings_refer_to_is_masked_by_its_value(mine: Mine, handler: str) -> None:
    props = {"db.password": REFERENCE, **(mine.hook() if handler == "WEBHOOK" else {})}
    mine.run(lambda scheduler: scheduler.add(blurt, "job", error_handler=handler, props=props))
    assert mine.shows() == []


def test_a_secret_that_is_written_into_the_settings_is_shown_by_them_to_nobody_but_the_registry(
    mine: Mine,
) -> None:
    """Whoever writes it there, and not where it is to be found, has Java members read it: it is kept."""
    props = {"db.password": CANARY, "note": f"password={CANARY}"}
    mine.run(lambda scheduler: scheduler.add(blurt, "job", props=props))
    assert mine.shows() == ["registry"]


def test_a_secret_in_the_url_of_a_call_is_told_to_its_server_alone(mine: Mine) -> None:
    mine.web.status = 500
    mine.web.answer = {"error": f"no access for {CANARY}"}
    uri = f"{mine.web.url}/{REFERENCE}/run?user=app&token={REFERENCE}"
    mine.run(
        lambda scheduler: scheduler.http(
            "job", uri, method="POST", data=f"key={REFERENCE}", error_handler="WEBHOOK", props=mine.hook()
        )
    )
    (called,) = [posted for posted in mine.web.posted.all if posted.target != "/alerts"]
    assert called.target == f"/{CANARY}/run?user=app&token={CANARY}"
    assert called.body == f"key={CANARY}".encode()
    assert mine.shows() == []


def test_a_secret_that_is_written_into_the_url_of_a_call_is_in_no_message_about_it(mine: Mine) -> None:
    mine.web.status = 500
    mine.run(
        lambda scheduler: scheduler.http(
            "job", f"{mine.web.url}/run?token={CANARY}", method="POST", data="n=1"
        )
    )
    assert mine.shows() == ["registry"]


def test_a_url_with_a_login_is_refused_and_not_repeated(mine: Mine) -> None:
    with pytest.raises((ConfigError, JobError)) as refused:
        mine.scheduler.http("job", f"http://app:{CANARY}@{mine.web.url.removeprefix('http://')}/")
    assert CANARY not in f"{refused.value}{refused.value.__cause__!r}"


def test_a_secret_in_the_environment_of_a_script_is_masked_where_the_script_prints_it(
    mine: Mine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", CANARY)
    program = workers.script(tmp_path / "jobs", "tell", workers.TELL)
    script = Script([program], folders=[tmp_path / "jobs"], env=["DB_PASSWORD", f"API_KEY={CANARY}"])
    mine.run(lambda scheduler: scheduler.add(script, "job", error_handler="WEBHOOK", props=mine.hook()))
    assert mine.shows() == []


def test_a_script_does_not_even_have_what_it_was_not_given_by_name(
    mine: Mine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", CANARY)
    program = workers.script(tmp_path / "jobs", "tell", workers.TELL)
    mine.run(lambda scheduler: scheduler.script("job", [program], error_handler="WEBHOOK", props=mine.hook()))
    assert mine.shows() == []
    assert mine.alerts()[0].json()["subject"].endswith(" could not log in as app:")


def test_a_secret_that_an_isolated_function_says_is_masked_by_its_shape(mine: Mine) -> None:
    mine.run(
        lambda scheduler: scheduler.add(
            workers.leak, "job", isolated=True, error_handler="WEBHOOK", props=mine.hook()
        )
    )
    assert mine.shows() == []


def test_a_password_for_the_mail_is_told_to_the_mail_server_alone(mine: Mine) -> None:
    with PostOffice() as office:
        props = {
            "email.host": "localhost",
            "email.port": str(office.port),
            "email.username": "me",
            "email.password": REFERENCE,
            "email.from": "jobs@example.com",
            "email.to": "ops@example.com",
            "email.useSsl": "false",
            "email.debug": "true",
        }
        mine.run(lambda scheduler: scheduler.add(blurt, "job", error_handler="EMAIL", props=props))
        (letter,) = office.letters.all
    assert letter.login == f"me:{CANARY}"
    assert CANARY not in letter.text()
    assert CANARY.encode() not in letter.raw
    assert mine.shows() == []


@pytest.mark.parametrize("dead", [True, False])
def test_a_webhook_that_cannot_be_reached_or_refuses_gives_nothing_away(mine: Mine, dead: bool) -> None:
    url = "http://127.0.0.1:9" if dead else mine.web.url
    mine.web.status = 403
    mine.web.answer = {"error": f"unknown key {CANARY}"}
    props = {"webhook.url": f"{url}/{REFERENCE}?key={REFERENCE}", "webhook.token": REFERENCE}
    mine.run(lambda scheduler: scheduler.add(talk, "job", error_handler="WEBHOOK", props=props))
    assert mine.shows() == []


def test_a_secret_that_the_settings_refer_to_is_masked_by_its_value_when_it_is_tried_again(
    mine: Mine,
) -> None:
    props = {"db.password": REFERENCE}
    mine.run(lambda scheduler: scheduler.add(blurt, "job", retries=1, retry_delay="50ms", props=props))
    assert mine.shows() == []
