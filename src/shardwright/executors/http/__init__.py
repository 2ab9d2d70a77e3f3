"""HTTP: a run that is a call to a server, which is told of the shard in a header.

A status from 400 on is a failure; so is being sent elsewhere unless that is allowed, and an answer that
breaks off, is too long or takes too long. Certificates are checked against the system's authorities
(`SSL_CERT_FILE` names others); no proxy is asked. Secrets, that is whatever came by reference, the query and
headers with a telling name, are in no `repr`, message or log. urllib3 reads URLs and answers; its own
connections are not used, as they resolve names themselves and log URLs.

    call.py         the call itself, as a job has it
    settings.py     what may be said of it, in our words and in ElasticJob's
    request.py      what is sent for one shard
    connection.py   a connection to an address that is allowed, which can be cut
    exchange.py     asking by it, and hearing the answer out
    redirect.py     what to ask where the server sends us
    hidden.py       what may not be shown, and what is shown instead
"""

from .call import Answer, Http

__all__ = ["Answer", "Http"]
