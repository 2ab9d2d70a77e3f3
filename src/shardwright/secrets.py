"""Secrets: which settings hold one, and how it is kept out of everything people read.

A setting is secret by its key (`email.password`) or by its shape (`https://user:password@host`). A value
that is only a reference, `${env:NAME}` or `${file:/path}`, says where the secret is and not what it is, so
it is shown. Masking may hide too much; it must not hide too little.
"""

import re

MASK = "***"

#: What marks a key as secret: a word of five letters or more anywhere in it, a shorter one as a word of its
#: own (so `api.key` is secret and `keyword` is not). Add your own words at start-up.
WORDS = {
    *("password", "passwd", "passphrase", "secret", "token", "webhook", "credential", "authorization"),
    *("apikey", "accesskey", "privatekey", "cookie", "signature", "bearer"),
    *("key", "pwd", "pass", "auth", "sign", "sig"),
}
_ANYWHERE = 5

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_REFERENCE = re.compile(r"\$\{(?:env|file):[^{}]*\}")
_VALUE = r"""("(?:[^"\\]|\\.)*"|'[^']*'|\$\{[^{}]*\}|[^\s&;,"'}]+)"""
_SETTING = re.compile(r"""(?<![\w.-])([\w.-]{1,100})(["']?\s{0,3}[=:]\s{0,3})""" + _VALUE)
_OPTION = re.compile(r"(?<!\S)(--?[\w.-]{1,100})(\s{1,3})" + _VALUE)
_SCHEME = re.compile(r"(?i)\b(bearer|basic)(\s{1,3})" + _VALUE)


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
    value = re.sub(r"\S+", lambda found: _without_login(found[0]), value)
    value = _SCHEME.sub(rf"\1\2{MASK}", value)
    value = _OPTION.sub(_without_secret, value)
    return _SETTING.sub(_without_secret, value)


def _without_login(word: str) -> str:
    """`https://user:password@host` without whoever is before the `@`."""
    scheme, found, rest = word.partition("://")
    login, at, place = rest.rpartition("@")
    if not (found and at and login):
        return word
    return f"{scheme}://{MASK}@{place}"


def _without_secret(found: re.Match[str]) -> str:
    """`password=x`, `"token": "x"` or `--api-key x` without the x."""
    key, between, value = found.groups()
    if not looks_secret(key) or is_reference(value.strip("\"'")):
        return found[0]
    return f"{key}{between}{MASK}"
