"""The console: a web page over `ops` and the history, and the API below it (extra `console`).

    app          all of it put together
    routing      routes, and who may take them
    roles        viewer, operator, author, admin
    accounts     who may sign in, in one file
    sessions     who has signed in, in memory
    lockout      who has to wait after tries that failed
    guard        what holds for every call: origin, size, time, headers
    gate         all of these together: who comes in, and the audit of that
    desk         the registries and histories, open
    routes/      the API, one file for each part
    static       the built page

Only this part of Shardwright knows FastAPI; no worker ever loads it.
"""
