"""SnakeYAML's dialect: what is read and refused, what a Java bean would get, what is carried and written.

The answers in the tables are those of SnakeYAML 2.2, asked through ElasticJob 3.0.4's own classes.
"""

from collections.abc import Callable
from contextlib import suppress

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwright import beans, snakeyaml
from shardwright.errors import ConfigError
from shardwright.snakeyaml import INT, STR, Items, Node, Pairs, Scalar
from tests.awkward import TEXTS

CANARY = "canary-5e1f"


def refusal(document: str | bytes) -> str:
    with pytest.raises(ConfigError) as refused:
        snakeyaml.read(document)
    assert refused.value.__cause__ is None
    return str(refused.value)


# Documents


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("a: b: c", "is not YAML: line 1, column 5: mapping values are not allowed in this context"),
        ("a: 'b", "is not YAML: line 1, column 6: found unexpected end of stream"),
        ("a: 1\n--- b\n", "holds more than one document"),
        ("a: &x 1\nb: *x\n", "holds an alias (*name), which is not taken"),
        ("a: &x [*x]\n", "holds an alias (*name), which is not taken"),
        ("a: \x07", "holds a character that YAML does not allow"),
        ("a: \ud800", "is not UTF-8 text"),
        (b"a: \xff", "is not UTF-8 text"),
        ("[" * 21 + "]" * 21, "is nested more than 20 deep"),
        ("x" * 65_537, "is longer than 65,536 bytes, the most that is read"),
        ("é" * 32_769, "is longer than 65,536 bytes, the most that is read"),
        (b"\xff" * 65_537, "is longer than 65,536 bytes, the most that is read"),
    ],
)
def test_a_document_that_cannot_be_is_refused_with_the_reason(document: str | bytes, reason: str) -> None:
    assert refusal(document) == reason


@pytest.mark.parametrize(
    "document",
    [f"a: !{CANARY}!x y", f"a: *{CANARY}", f"a: '{CANARY}", f"? {CANARY}: b: c", f"%{CANARY}\n- a: b: c"],
)
def test_a_refusal_never_repeats_what_the_document_says(document: str) -> None:
    assert CANARY not in refusal(document)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit",
    [
        *("[", "{", "{a: ", "- ", "? ", "[a,", '"a\n', "a: &a\n", "!", "#\n", "- - ", "a:\n", "'", " "),
        *("%", "&a "),
        *("[?", "{?", "a\n", "[a\n", "[a: ", "*a ", "<<: ", "&a [*a,", "|\n", ">+\n", "\\", '"\\'),
        *("\ufeff", "\x85"),
    ],
)
def test_a_hostile_document_costs_little_time(unit: str) -> None:
    size = len(unit.encode())
    with suppress(ConfigError):
        snakeyaml.read(unit * (snakeyaml.LARGEST // size))


@pytest.mark.parametrize(
    "document",
    [
        "!!python/object/apply:os.system ['true']",
        "!!javax.script.ScriptEngineManager [!!java.net.URLClassLoader [[!!java.net.URL ['http://x']]]]",
        "- !!python/name:os.system ''",
        "!<tag:yaml.org,2002:python/object/new:os.system> {a: b}",
    ],
)
def test_a_tag_is_a_word_and_nothing_is_made_of_it(document: str) -> None:
    node = snakeyaml.read(document)
    assert isinstance(node, Scalar | Items | Pairs)
    assert snakeyaml.read(snakeyaml.write(node)) == node


# What a bean gets


def asked(question: Callable[[Node], object], document: str) -> object:
    """The answer, or the refusal."""
    try:
        return question(snakeyaml.read(document))
    except ValueError as refused:
        return f"! {refused}"


@pytest.mark.parametrize(
    ("document", "text"),
    [
        *(
            (plain, plain)
            for plain in ("yes", "0123", "12:30:45", "2001-01-01", "=", "<<", "1e3", "a\tb", "😀")
        ),
        *((nothing, None) for nothing in ("~", "null", "- ", "Null")),
        ("''", ""),
        ("'~'", "~"),
        ("!!str 12", "12"),
        ("! 12", "12"),
        ("!!binary aGk=", "hi"),
        ("!!binary |\n  aG\n  k=\n", "hi"),
        ("|\n  a\n   b\n", "a\n b\n"),
        (">\n a\n b\n", "a b\n"),
        ("'a\n\n  b'", "a\nb"),
        (r'"\x41\u263a\U0001F600\N\_\L\P\e\0"', "A☺😀\x85\xa0\u2028\u2029\x1b\x00"),
        ("!!binary '#'", "! holds binary data that is not text"),
        ("!!binary /w==", "! holds binary data that is not text"),
        ("!foo bar", "! must be text"),
        ("!!java.util.Date 2001-01-01", "! must be text"),
        ("[a]", "! must be text"),
        ("{a: b}", "! must be text"),
    ],
)
def test_a_string_property_is_the_text_as_it_is_written(document: str, text: object) -> None:
    if document == "- ":
        assert beans.text(beans.items(snakeyaml.read(document))[0]) == text
    else:
        assert asked(beans.text, document) == text


@pytest.mark.parametrize(
    ("document", "number"),
    [
        *(
            ("3", 3),
            ("'3'", 3),
            ("-5", -5),
            ("+5", 5),
            ("_5", 5),
            ("1_000", 1000),
            ("1:30", 90),
            ("1:99", 159),
        ),
        *(("010", 8), ("-010", -8), ("00", 0), ("0_", 0), ("0x1f", 31), ("-0x10", -16), ("0b11", 3)),
        *(("2147483647", 2**31 - 1), ("-2147483648", -(2**31))),
    ],
)
def test_an_int_property_takes_the_notations_of_yaml_1_1(document: str, number: int) -> None:
    assert asked(beans.whole, document) == number


@pytest.mark.parametrize(
    "document",
    [
        *("~", "3.0", "09", "0o17", "yes", "5.", "0x", "1e3", "''", "' 5'", "--5", "0XF", "-+5", "0:5"),
        *("2147483648", "9" * 5000, "[1]", "{1: 1}", "!x 5", "!!int abc"),
    ],
)
def test_what_java_makes_no_int_of_is_refused(document: str) -> None:
    assert asked(beans.whole, document) == "! must be a whole number of at most 32 bits"


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        *((word, True) for word in ("true", "yes", "on", "ON", "'true'", "tRuE", "Yes")),
        *((word, False) for word in ("false", "no", "off", "'Off'", "NO")),
        *((word, "! must be true or false") for word in ("y", "1", "~", "' true'", "[true]", "!x true", "0")),
    ],
)
def test_a_boolean_property_takes_six_words(document: str, answer: object) -> None:
    assert asked(beans.truth, document) == answer


@pytest.mark.parametrize(
    ("document", "text"),
    [
        *(
            ("010", "8"),
            ("0x1F", "31"),
            ("0b11", "3"),
            ("-0", "0"),
            ("1_000", "1000"),
            ("190:20:30", "685230"),
        ),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        *(
            ("yes", "true"),
            ("Off", "false"),
            ("1e3", "1000.0"),
            ("1.5", "1.5"),
            ("1_0.5", "10.5"),
            ("0.1", "0.1"),
        ),
        *(
            (".inf", "Infinity"),
            ("-.INF", "-Infinity"),
            (".nan", "NaN"),
            ("1e400", "Infinity"),
            ("-0.0", "-0.0"),
        ),
        *(
            ("1.0e10", "1.0E10"),
            ("1e-5", "1.0E-5"),
            ("100000000.5", "1.000000005E8"),
            ("190:20:30.5", "685230.5"),
        ),
        *(("=", "="), ("''", ""), ("'010'", "010"), ("!!str 12", "12"), ("!!int '12'", "12"), ("a b", "a b")),
        ("~", "! must have a value"),
        ("[1]", "! must be text"),
        ("!!float abc", "! must be a number, or be put in quotes"),
        *(
            (bad, "! reads as a date, a number or a sign that Java makes no text of: put it in quotes")
            for bad in ("2001-01-01", "<<", "!!int abc", "1" * 1001)
        ),
    ],
)
def test_a_value_of_properties_is_what_it_looks_like_made_text(document: str, text: object) -> None:
    assert asked(beans.prop, document) == text


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("a: 1\na: 2\n", "! has the key 'a' twice"),
        ("1: a\n", "! has a key that is not text: put it in quotes"),
        ("yes: a\n", "! has a key that is not text: put it in quotes"),
        ("~: a\n", "! has a key that is not text: put it in quotes"),
        ("[a]: b\n", "! has a key that is not text: put it in quotes"),
        ("<<: {a: b}\n", "! has a key that is not text: put it in quotes"),
        ("!x a: b\n", "! has a key that is not text: put it in quotes"),
        ("[]", "! must be a mapping"),
        ("~", "! must be a mapping"),
        ("!x {a: b}", "! must be a mapping"),
    ],
)
def test_a_bean_has_every_key_once_and_as_text(document: str, reason: str) -> None:
    assert asked(beans.settings, document) == reason


# Carrying and writing


@settings(deadline=None)
@given(st.one_of(st.sampled_from(TEXTS), st.text()))
def test_every_text_reads_back_as_itself(text: str) -> None:
    node = Pairs(((Scalar(text), Items((Scalar(text), Scalar("1", INT)))),))
    assert snakeyaml.read(snakeyaml.write(node)) == node


TAGS = st.sampled_from(["tag:yaml.org,2002:org.example.Bean", "!local", "tag:yaml.org,2002:a$B", "!é b"])
NODES: st.SearchStrategy[Node] = st.recursive(
    st.one_of(st.builds(Scalar, st.one_of(st.text(), st.sampled_from(TEXTS)), st.one_of(st.just(STR), TAGS))),
    lambda inner: st.one_of(
        st.builds(Items, st.lists(inner).map(tuple), st.one_of(st.just(snakeyaml.SEQ), TAGS)),
        st.builds(
            Pairs, st.lists(st.tuples(inner, inner)).map(tuple), st.one_of(st.just(snakeyaml.MAP), TAGS)
        ),
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(NODES)
def test_nodes_with_any_tag_are_carried_unchanged(node: Node) -> None:
    assert snakeyaml.read(snakeyaml.write(node)) == node


@pytest.mark.parametrize(
    "plain", ["10", "010", "true", "1e3", "2001-01-01", "~", "'10'", "!!int 'x'", "<<", "no"]
)
def test_a_carried_scalar_stays_what_it_looked_like(plain: str) -> None:
    node = snakeyaml.read(f"- a: {plain}\n- b:\n")
    assert isinstance(node, Items)
    again = snakeyaml.read(snakeyaml.write(node))
    assert isinstance(again, Items)
    assert again.value[0] == node.value[0]
    assert [each.tag for each in again.value] == [each.tag for each in node.value]


def test_nodes_too_deep_to_be_read_are_not_written() -> None:
    node: Node = Scalar("x")
    for _ in range(20):
        node = Items((node,))
    with pytest.raises(ConfigError, match="is nested more than 20 deep"):
        snakeyaml.write(node)


def test_what_stands_under_a_secret_key_is_not_shown() -> None:
    node = snakeyaml.read(
        f"!x {{user: sa, password: {CANARY}, tokens: [{CANARY}, {{a: {CANARY}}}], url: 'j://u:{CANARY}@h'}}"
    )
    assert CANARY not in repr(node)
    assert CANARY not in repr(Items((node,)))
    assert snakeyaml.write(snakeyaml.masked(node)).splitlines() == [
        "!x",
        "user: sa",
        "password: '***'",
        "tokens:",
        "- '***'",
        "- a: '***'",
        "url: j://***@h",
    ]


def test_without_libyaml_the_answers_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    document = snakeyaml.write(Pairs(tuple((Scalar(f"k{i}"), Scalar(text)) for i, text in enumerate(TEXTS))))
    with_libyaml = snakeyaml.read(document)
    monkeypatch.setattr(snakeyaml, "_Loader", yaml.SafeLoader)
    monkeypatch.setattr(snakeyaml, "_Dumper", yaml.SafeDumper)
    assert snakeyaml.read(document) == with_libyaml
    assert snakeyaml.read(snakeyaml.write(with_libyaml)) == with_libyaml
    for bad in ('a: "\\UFFFFFFFF"', "a: !x!y z", "a: \x07", "%YAML 9.9\n--- a", "a: 'b"):
        with pytest.raises(ConfigError):
            snakeyaml.read(bad)
