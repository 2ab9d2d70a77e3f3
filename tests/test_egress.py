"""Egress: URLs are read in one way or refused, and every address of a host is checked, once."""

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from urllib3.util import parse_url

from shardwright.egress import Egress, Place, Resolver, is_public, read
from shardwright.errors import ConfigError, Failed


def answering(*addresses: str) -> Resolver:
    """A resolver that gives these for every name."""
    return lambda host, port: addresses


def test_a_url_is_read_into_what_is_needed_to_call_it() -> None:
    assert read("HTTPS://Example.COM/a b".replace(" ", "%20") + "?q=1#part") == Place(
        "https", "example.com", 443, "/a%20b?q=1"
    )
    assert read("http://example.com.:8080").netloc == "example.com:8080"
    assert read("http://[2606:4700::1111]:80/").netloc == "[2606:4700::1111]"
    assert read("http://h?q=größe").target == "/?q=gr%C3%B6%C3%9Fe"
    assert "secret" not in repr(read("http://h/?q=secret"))


UNREADABLE = [
    "",
    "http://",
    "http:///path",
    "http:example.com",
    "http:/example.com",
    "//example.com/",
    "example.com",
    "example.com:80",
    "file:///etc/passwd",
    "gopher://127.0.0.1:2181/_stat",
    "ftp://example.com/",
    "unix:///var/run/docker.sock",
    "javascript:alert(1)",
    "http://public@127.0.0.1/",
    "http://public.com:pw@127.0.0.1/",
    "http://@127.0.0.1/",
    "http://127.0.0.1@public.com/",
    "http://public.com\\@127.0.0.1/",
    "http://127.0.0.1\\.public.com/",
    "http:\\\\127.0.0.1\\",
    "http://public.com#@127.0.0.1/\\",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0X7F.0.0.1/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0/",
    "http://0x/",
    "http://127.0.0.1./",
    "http://127.0.0.01/",
    "http://256.0.0.1/",
    "http://1.2.3.4.5/",
    "http://public.com.0x7f/",
    "http://[::1%25lo]/",
    "http://[fe80::1%eth0]/",
    "http://[::1/",
    "http://::1/",
    "http://[127.0.0.1]/",
    "http://[v1.x]/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://ⓛocalhost/",
    "http://loc\u00adalhost/",
    "http://%6cocal%68ost%2f/",
    "http://127%2e0%2e0%2e1%00/",
    "http://local host/",
    "http://localhost\t/",
    "http://localhost\n/",
    "http://localhost\r\nHost: x/",
    "http://localhost\x00.public.com/",
    " http://localhost/",
    "http://localhost/ HTTP/1.1",
    "http://local_host..com/",
    "http://.com/",
    "http://-a.com/",
    "http://" + "a" * 64 + ".com/",
    "http://" + "a." * 130 + "com/",
    "http://h:0/",
    "http://h:65536/",
    "http://h:99999999/",
    "http://h:80:80/",
    "http://h:-1/",
    "http://h:８０/",
    "http://h/" + "a" * 8_000,
    "http://h/\u2028",
    "http://h/\ud800",
]


@pytest.mark.parametrize("url", UNREADABLE)
def test_a_url_that_could_be_read_in_two_ways_is_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(ValueError, match=r"^the URL .{10,}"):
        read(url)


@given(st.text(alphabet="ht:p/@\\[]%#?.0x127fa- \t\n。①:8lcos", max_size=30).map("http://".__add__))
def test_whatever_is_read_urllib3_reads_as_the_same_and_there_is_no_login(url: str) -> None:
    try:
        place = read(url)
    except ValueError:
        return
    theirs = parse_url(url)
    assert (theirs.auth, theirs.port or 80) == (None, place.port)
    assert parse_url(f"http://{place.netloc}").port in (None, place.port)
    host = (theirs.host or "").strip("[]")
    assert host == place.host or IPv6Address(host) == IPv6Address(place.host)


@given(
    st.from_regex(r"(0x[0-9a-f]{1,8}|[0-9]{1,10})(\.(0x[0-9a-f]{1,4}|[0-9]{1,4})){0,3}\.?", fullmatch=True)
)
def test_what_the_system_takes_for_an_address_is_one_in_the_plain_form_or_refused(host: str) -> None:
    try:
        place = read(f"http://{host}/")
    except ValueError:
        return
    assert socket.inet_ntoa(socket.inet_aton(host)) == place.host == host


NOT_PUBLIC = [
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255"),
    *("192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.2.1"),
    *("198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"),
    *("168.63.129.16", "192.88.99.1"),
    *("::", "::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "100::1"),
    *("2001:db8::1", "2001::1", "3fff::1", "4000::1", "2606:4700::1%eth0"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::169.254.169.254", "64:ff9b:1::7f00:1"),
    *("2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:7f00:1:0:0:80ff:fffe"),
]


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_address_that_is_not_on_the_open_internet_is_refused_in_every_guise(address: str) -> None:
    assert not is_public(ip_address(address))
    with pytest.raises(Failed, match=r"^innocent\.example is at .*, where jobs may not call: if it is meant"):
        Egress(resolve=answering(address)).addresses(read("http://innocent.example/"))


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_a_public_address_is_allowed(address: str) -> None:
    assert Egress(resolve=answering(address)).addresses(read("http://h/")) == (str(ip_address(address)),)


@given(st.ip_addresses())
def test_whatever_python_calls_special_is_not_public_to_us(address: IPv4Address | IPv6Address) -> None:
    if address in IPv6Network("::/8"):
        return  # to Python all of these are reserved, to us some stand for an address of IPv4
    special = (address.is_private, address.is_loopback, address.is_link_local)
    if any((*special, address.is_multicast, address.is_reserved, address.is_unspecified)):
        assert not is_public(address)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[64:ff9b::7f00:1]/"]
)
def test_an_address_in_the_url_itself_is_checked_without_asking_anybody(url: str) -> None:
    def unasked(host: str, port: int) -> tuple[str, ...]:
        raise AssertionError(host)

    with pytest.raises(Failed, match="jobs may not call"):
        Egress(resolve=unasked).addresses(read(url))


@pytest.mark.parametrize("url", ["http://localhost/", "http://localhost./", "http://LOCALHOST:2181/"])
def test_the_systems_own_names_for_itself_are_refused(url: str) -> None:
    with pytest.raises(Failed, match=r"jobs may not call|cannot be resolved"):
        Egress().addresses(read(url))


def test_one_bad_address_among_good_ones_is_enough() -> None:
    egress = Egress(resolve=answering("1.1.1.1", "10.0.0.1", "8.8.8.8"))
    with pytest.raises(Failed, match=r"h is at 10\.0\.0\.1"):
        egress.addresses(read("http://h/"))


def test_a_name_is_resolved_once_and_what_was_checked_is_what_is_given() -> None:
    answers = iter([["1.1.1.1", "2606:4700::1111"], ["127.0.0.1"]])
    egress = Egress(resolve=lambda host, port: next(answers))
    assert egress.addresses(read("http://h/")) == ("1.1.1.1", "2606:4700::1111")
    assert next(answers) == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("entry", "url", "address"),
    [
        ("billing.internal", "http://billing.internal:81/", "10.0.0.1"),
        ("Billing.Internal.", "http://billing.internal/", "10.0.0.1"),
        ("billing.internal", "http://BILLING.internal./", "10.0.0.1"),
        ("billing.internal:81", "http://billing.internal:81/", "10.0.0.1"),
        ("10.0.0.0/8", "http://any.internal/", "10.0.0.1"),
        ("127.0.0.1", "http://127.0.0.1:81/", ""),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]:81/", ""),
        ("127.0.0.1:81", "http://127.0.0.1:81/", ""),
        ("::1", "http://[::1]:81/", ""),
        ("[::1]", "http://[::1]:81/", ""),
        ("[::1]:81", "http://[::1]:81/", ""),
        ("fd00::/8", "http://any.internal/", "fd00::1"),
    ],
)
def test_what_the_operator_names_is_allowed(entry: str, url: str, address: str) -> None:
    assert Egress(allow=(entry,), resolve=answering(address)).addresses(read(url))


@pytest.mark.parametrize(
    ("entry", "url", "address"),
    [
        ("billing.internal:81", "http://billing.internal:82/", "10.0.0.1"),
        ("billing.internal", "http://evil-billing.internal/", "10.0.0.1"),
        ("internal", "http://billing.internal/", "10.0.0.1"),
        ("billing.internal", "http://billing.internal.evil.com/", "10.0.0.1"),
        ("127.0.0.1:81", "http://127.0.0.1/", ""),
        ("10.0.0.0/24", "http://any.internal/", "10.0.1.1"),
        ("10.0.0.0/8", "http://any.internal/", "127.0.0.1"),
    ],
)
def test_what_is_only_like_it_is_not(entry: str, url: str, address: str) -> None:
    with pytest.raises(Failed, match="jobs may not call"):
        Egress(allow=(entry,), resolve=answering(address)).addresses(read(url))


def test_an_operator_may_close_the_open_internet_too() -> None:
    egress = Egress(allow=("api.example",), public=False, resolve=answering("1.1.1.1"))
    assert egress.addresses(read("https://api.example/")) == ("1.1.1.1",)
    with pytest.raises(Failed, match=r"other\.example is at 1\.1\.1\.1, where jobs may not call"):
        egress.addresses(read("https://other.example/"))


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "http://h/",
        "h:0",
        "h:70000",
        "h:x",
        "10.0.0.1/8",
        "10.0.0.0/33",
        "2130706433",
        "a b",
        "*.h",
        "u@h",
    ],
)
def test_an_entry_that_is_none_is_refused_when_the_list_is_made(entry: str) -> None:
    with pytest.raises(ConfigError, match="is no host, network or host:port, such as"):
        Egress(allow=("127.0.0.1", entry))


def test_a_list_that_is_one_text_is_told_how_to_be_a_list() -> None:
    with pytest.raises(ConfigError, match=r"write \('localhost',\)"):
        Egress(allow="localhost")  # type: ignore[arg-type]


def refusing(host: str, port: int) -> tuple[str, ...]:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


@pytest.mark.parametrize(
    ("resolve", "complaint"),
    [
        (refusing, "the name h cannot be resolved: Name or service not known"),
        (answering(), "the name h has no address"),
        (answering("1.1.1.1", "nowhere"), "the name h resolves to something that is no address"),
    ],
)
def test_a_name_without_an_address_fails_with_a_sentence(resolve: Resolver, complaint: str) -> None:
    with pytest.raises(Failed, match=complaint):
        Egress(resolve=resolve).addresses(read("http://h/"))
