"""What the scenarios share: a job of their own, on one server."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import require
from tests.zookeeper_server import Server

from . import job as jobs
from .job import Job


@pytest.fixture
def job(zookeeper: Server, tmp_path: Path) -> Iterator[Job]:
    require(jobs.missing())
    with Job(zookeeper, tmp_path, f"interop-{uuid.uuid4().hex[:8]}") as shared:
        yield shared
