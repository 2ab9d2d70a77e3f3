"""Secrets: which settings hold one, and how it is kept out of everything people read.

A setting is secret by its key (`email.password`) or by its shape (`https://user:password@host`). A value
that is only a reference, `${env:NAME}` or `${file:/path}`, says where the secret is and not what it is, so
it is shown. Masking may hide too much; it must not hide too little.
"""

import re
from collections.abc import Callable

MASK = "***"

#: What marks a key as secret: a word of five letters or more anywhere in it, a shorter one as a word of its
#: own (so `api.key` is secret and `keyword` is not). Add your own words at start-up.
WORDS = {
    *("password", "passwd", "passphrase", "secret", "token", "webhook", "credential", "authorization"),
    *("apikey", "accesskey", "privatekey", "cookie", "signature", "bearer"),
    *("key", "pw", "pwd", "pass", "auth", "sign", "sig", "jwt"),
}
_ANYWHERE = 5
_PASSES = 5  # what is left after one may look like a secret itself; so masking twice is masking once

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_REFERENCE = re.compile(r"\$\{(?:env|file):[^{}]*\}")

# A value that is over at its own end: a reference, what is masked already, what stands in quotes.
_EDGE = r"""(?=[\s&;,:"'}\])\\]|\Z)"""
_SHOWN = re.compile(rf"""(\\*["']?)(?:\$\{{(?:env|file):[^{{}}]*\}}|\*\*\*)\1{_EDGE}""")
_QUOTED = r"""(?:"(?:[^"\\]|\\.)*+"|'[^']*+')""" + _EDGE
# Any other goes on to the end of the line, or to another setting, an option or a closing mark before that.
_NEXT = r"""[&;,][\s"'{]{0,3}[\w.-]++["']?\s{0,3}[=:]|\s[\w.-]++=|\s--[a-z]"""
_QUOTE = r"""\\*+["'](?=[\s&;,:}\])\\]|\Z)"""
# A run of backslashes is looked at from its first one only, or a long one would be read over and over.
_CLOSING = rf"""(?<!\\){_QUOTE}|[}}\])](?=[\s&;,]|\Z)"""
_REST = rf"(?:(?={_QUOTE})|.*?(?={_NEXT}|{_CLOSING}|\n|\Z))"
_VALUE = re.compile(rf"{_QUOTED}|[\[{{](?s:.*)|(?:\\+[\"'])?.{_REST}")
_ARGUMENT = re.compile(rf"{_QUOTED}|\S+")

_SETTING = re.compile(
    r"""(?<![\w.-])([\w.-]++)(?:\[\w{0,100}\])?\\*+["']?\s*+(?:[=:]++>?|->|%3[ad])\s*+""", re.IGNORECASE
)
_OPTION = re.compile(r"(?<![\w-])(--?[\w.-]++)\s++")
_COOKIES = re.compile(r"\b(cookie):\s*+", re.IGNORECASE)
_LINE = re.compile(r"[^\n\"']+")
_SCHEME = re.compile(r"\b(bearer|basic)\s++", re.IGNORECASE)
_USER = r"(?<![\w-])(-[uU]\s*+|--(?:proxy-)?user[\s=]++)"
_HOOK = r"(?i)(\bhooks?\.[\w.-]{1,100}+/|/(?:web)?hooks?/|\.webhook\.office\.com/|/bot(?=\d+:))"
_GLUED = re.compile(r"(?i)\b(?:sshpass|mysql|mariadb)")  # these take `-psecret`

#: What comes right before a secret, whatever follows, and how far that goes.
_SHAPES = [
    (_SCHEME, _ARGUMENT),
    (re.compile(rf"{_USER}[^\s:\"']{{1,100}}+:"), re.compile(r"\S+")),
    (re.compile(rf"{_USER}[\"'][^:\"']{{1,100}}+:"), re.compile(r"[^\"']+")),
    (re.compile(_HOOK), re.compile(r"[^\s\"'<>]+")),
]


def looks_secret(key: str) -> bool:
    """Whether what stands under this key is nobody's business."""
    plain = key.lower()
    own = {word.lower() for word in _WORD.findall(key)}
    return any(word in own or (len(word) >= _ANYWHERE and word in plain) for word in WORDS)


def is_reference(value: str) -> bool:
    """Whether a value only says where to find the secret."""
    return _REFERENCE.fullmatch(value) is not None


def masked(value: str, *, key: str = "") -> str:
    """A value as people may see it, in the light of the key it stands under."""
    if not value or is_reference(value):
        return value
    if looks_secret(key):
        return MASK
    for _ in range(_PASSES):
        shown = _masked_once(value)
        if shown == value:
            break
        value = shown
    return value


def _masked_once(value: str) -> str:
    # Settings go first: a login may seem to end within a password, and what is left of it would be shown.
    value = _without(value, _COOKIES, _LINE, bool)
    value = _without(value, _SETTING, _VALUE, looks_secret)
    value = _without(value, _OPTION, _ARGUMENT, lambda option: option == "-p" or looks_secret(option))
    for mark, secret in _SHAPES:
        value = _without(value, mark, secret, bool)
    if _GLUED.search(value):
        value = re.sub(r"(?<!\S)-p\S+", f"-p{MASK}", value)
    return re.sub(r"\S+", lambda found: _without_login(found[0]), value)


def _without(
    text: str, mark: re.Pattern[str], secret: re.Pattern[str], is_secret: Callable[[str], bool]
) -> str:
    """The text without what follows the marks that announce a secret.

    After a mark that announces none the search goes on right behind it: `note: password=x`.
    """
    shown, done, at = [], 0, 0
    while found := mark.search(text, at):
        at = found.end()
        if not is_secret(found[1]):
            continue
        if kept := _SHOWN.match(text, at):
            at = kept.end()
        elif hidden := secret.match(text, at):
            shown += [text[done:at], MASK]
            done = at = hidden.end()
    return "".join([*shown, text[done:]])


def _without_login(word: str) -> str:
    """`https://user:password@host` without whoever is before the `@`; without a scheme, the user may stay."""
    scheme, found, rest = word.partition("://")
    login, at, place = rest.rpartition("@")
    if found and at and login:
        return f"{scheme}://{MASK}@{place}"
    login, at, place = word.rpartition("@")
    user = re.match(r"jdbc:[^/]*+/|[^:/]++[:/]", login)  # Oracle: jdbc:oracle:thin:user/password@host
    is_instance = "@-@" in word and ":" not in word  # ElasticJob: instances/10.0.0.1@-@4711
    return f"{user[0]}{MASK}@{place}" if user and at and not is_instance else word
