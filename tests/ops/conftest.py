"""The same registries that the recipes are tried on."""

from tests.recipes.conftest import place as place
