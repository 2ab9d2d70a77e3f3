"""The routes of the desk: all that is shown and done in a registry, a file for each room."""

from ..routing import Routes
from . import doctor, fleet, history, jobs, recipes, servers, settings, steering, traces, tree

every: tuple[Routes, ...] = (
    fleet.routes,
    jobs.routes,
    steering.routes,
    settings.routes,
    servers.routes,
    history.routes,
    traces.routes,
    recipes.routes,
    tree.routes,
    doctor.routes,
)
