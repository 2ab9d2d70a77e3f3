"""Texts that YAML 1.1 would rather read as something else, and others that are hard to write.

`fixtures/config-awkward-java.yaml` holds them as SnakeYAML 2.2 wrote them through ElasticJob 3.0.4's own
classes; `fixtures/config-awkward-python.yaml` as we write them, which those classes read back to the letter.
Number 12 of this list is `k12` of the props there, so only ever append.
"""

TEXTS = (
    # words for true, false and nothing
    *("yes", "no", "on", "off", "Yes", "NO", "y", "n", "true", "False", "tRuE", "~", "null", "Null"),
    *("nul", ""),
    # numbers, and what only looks like one
    *("0", "-0", "+1", "00", "09", "012", "0o17", "0x1F", "0xg", "0b11", "1_000", "_1", "1_", "_", "1e3"),
    *("1E5",),
    *("+1e3", "-1E-5", "1_0e5", ".5e3", "1.5e3", "1.5E+3", "1e", "e3", "1.", "1.0", ".5", "+.5", "5.", "0."),
    *("12:30:45", "190:20:30.15", "1:2", "1:99", "01:30", "-12:30", ".inf", "-.INF", "+.inf", ".NaN"),
    *("+.nan",),
    # dates
    *("2001-01-01", "2001-1-1", "2001-1-1 1:01:01", "2001-12-14t21:59:43.10-05:00", "2001-01-01T"),
    # signs
    *("=", "<<", "!", "&", "*", "?", ":", "-", "#", "%", "|", ">", ",", ".", "...", "---", "--- a"),
    *("- a", "? a"),
    *(": a", "a: b", "a:", "a #b", "#a", "a#b", "&a", "*a", "!a", "!!str a", "!!binary aGk=", "@a", "`a"),
    *("%a",),
    *("[a]", "{a}", "[", "]", "{", "}", "a, b", "|-", "> a", "'", '"', "'a'", '"a"', "a'b", 'a"b', "\\"),
    *("a\\n",),
    # blanks and lines
    *(" a", "a ", "  ", "\t", "a\tb", "\ta", "a\t", "\n", "a\nb", "a\n", "a\n\n", "\na", "a\n b"),
    *("a \nb", " a\nb"),
    *("a\n\tb", "a\r\nb", "a\rb", "a\n---\nb", "a\n...\nb", "# x\ny", "a:\n  b", "- a\n- b", "1e3\n"),
    # letters of the world, and what is no letter
    *("é", "日本語", "😀", "a😀b", "\u2028", "a\u2029b", "\ufeff", "\ufeffa", "\xa0", "\u200b", "\U0010ffff"),
    *("\ue000",),
    *("\x00", "\x07", "a\x1bb", "\x7f", "\x9f", "\ufffe", "\uffff"),
    # long ones
    *("ab " * 60, "ab  " * 60, "a: " * 30, "x" * 300, "x" * 130 + ": y"),
    # what settings are like
    *("0=a,1=b", "*/5 * * * * ?", "GMT+08:00", "jdbc:h2:mem:x;DB=-1", "http://u:p@h/?a=b&c=d#e", "C:\\x"),
    *("${env:A}",),
)
