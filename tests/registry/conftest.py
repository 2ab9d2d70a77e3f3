"""What the registry's tests share besides the contract."""

import pytest

from tests.registry import summary

pytest.register_assert_rewrite(
    "tests.registry.contract", "tests.registry.state_machine", "tests.registry.linearizability"
)


def pytest_configure(config: pytest.Config) -> None:
    """Have the summary told, also where only these tests are run."""
    if not config.pluginmanager.has_plugin(summary.__name__):
        config.pluginmanager.register(summary, summary.__name__)
