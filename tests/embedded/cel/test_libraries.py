"""What Kubernetes and the common extensions add: texts, lists, sets, quantities, addresses, URLs, formats, versions."""

from typing import Any

import pytest

from embedded.cel.evaluation import evaluate

TEXTS: list[tuple[str, Any]] = [
    ("'hello'.startsWith('he') && 'hello'.endsWith('lo') && 'hello'.contains('ll')", True),
    ("'abc'.charAt(1) + 'abc'.charAt(3)", "b"),
    ("'tacocat'.indexOf('c') + 'tacocat'.lastIndexOf('c')", 6),
    ("'tacocat'.indexOf('c', 3)", 4),
    ("'tacocat'.lastIndexOf('c', 3)", 2),
    ("'tacocat'.indexOf('x')", -1),
    ("'abc'.indexOf('', 1)", 1),
    ("'ÀBC'.lowerAscii() + 'àbc'.upperAscii()", "ÀbcàBC"),
    ("'a-b-c'.replace('-', '+')", "a+b+c"),
    ("'a-b-c'.replace('-', '', 1)", "ab-c"),
    ("'ab'.replace('', '.')", ".a.b."),
    ("'a,b,c'.split(',')", ["a", "b", "c"]),
    ("'a,b,c'.split(',', 2)", ["a", "b,c"]),
    ("'a,b'.split(',', 0)", []),
    ("'abc'.split('')", ["a", "b", "c"]),
    ("'abc'.split('', 2)", ["a", "bc"]),
    ("['a', 'b'].join() + ['a', 'b'].join('-')", "aba-b"),
    ("'tacocat'.substring(4) + 'tacocat'.substring(0, 4)", "cattaco"),
    (r"' \t\u00a0x\u3000'.trim()", "x"),
    ("strings.quote('a\"b\\n')", '"a\\"b\\n"'),
    ("'abc123def'.find('[0-9]+') + 'abc'.find('z')", "123"),
    ("'1a2b3'.findAll('[0-9]')", ["1", "2", "3"]),
    ("'1a2b3'.findAll('[0-9]', 2)", ["1", "2"]),
    ("'aXbX'.findAll('X?')", ["", "X", "X"]),
    ("'ray-head'.matches('^[a-z]+-h')", True),
    ("matches('x', '[0-9]')", False),
    ("'%s is %d'.format(['a', 3])", "a is 3"),
    ("'%s %s %s'.format([1.5, true, null])", "1.5 true null"),
    ("'%s'.format([[1, 2]])", "[1, 2]"),
    ("'%s'.format([{'b': 'x', 'a': 'y'}])", '{"a":"y", "b":"x"}'),
    ("'%s %s'.format([duration('90s'), timestamp('2024-01-01T00:00:00Z')])", "90s 2024-01-01T00:00:00Z"),
    ("'%x %X %o %b'.format([255, 255, 8, 5])", "ff FF 10 101"),
    ("'%x'.format(['hi'])", "6869"),
    ("'%f %.2f'.format([1234567.891, 2.345])", "1,234,567.891000 2.35"),
    ("'%e'.format([12345.678])", "1.234568×10⁰⁴"),
    ("'100%%'.format([])", "100%"),
]

COLLECTIONS: list[tuple[str, Any]] = [
    ("[1, 2, 2].isSorted() && !['b', 'a'].isSorted() && [].isSorted()", True),
    ("[1, 2].sum() + [].sum()", 3),
    ("[1.5, 2.5].sum()", 4.0),
    ("[duration('1s'), duration('2s')].sum() == duration('3s')", True),
    ("[2, 1].min() + [2, 1].max()", 3),
    ("['b', 'a'].max()", "b"),
    ("[1, 2, 1].indexOf(1) + [1, 2, 1].lastIndexOf(1)", 2),
    ("[[1], [2]].indexOf([2])", 1),
    ("[1].indexOf(5)", -1),
    ("sets.contains([1, 2, 3], [2, 2]) && !sets.contains([1], [2])", True),
    ("sets.intersects([1], [1, 2]) && !sets.intersects([], [1])", True),
    ("sets.equivalent([1, 2], [2, 1, 1]) && !sets.equivalent([1], [1, 2])", True),
]

QUANTITIES: list[tuple[str, Any]] = [
    ("quantity('1Gi') == quantity('1024Mi') && quantity('1Gi') != quantity('1G')", True),
    ("quantity('1Gi').isGreaterThan(quantity('900Mi'))", True),
    ("quantity('50m').isLessThan(quantity('0.1'))", True),
    ("quantity('1.5k').add(quantity('500')).asInteger()", 2000),
    ("quantity('50k').sub(20).asInteger()", 49980),
    ("quantity('500m').asApproximateFloat()", 0.5),
    ("quantity('2').compareTo(quantity('1')) + quantity('1').compareTo(quantity('1'))", 1),
    ("sign(quantity('-5')) + sign(quantity('0'))", -1),
    ("isQuantity('1Gi') && !isQuantity('1GB') && !isQuantity('')", True),
    ("quantity('5').isInteger() && quantity('1.5k').isInteger()", True),
    ("quantity('1000m').isInteger() || quantity('1.0').isInteger()", False),
]

NETWORK: list[tuple[str, Any]] = [
    ("ip('10.0.0.1').family() + ip('::1').family()", 10),
    ("isIP('10.0.0.1') && !isIP('10.0.0.01') && !isIP('fe80::1%eth0') && !isIP('::ffff:1.2.3.4')", True),
    ("ip.isCanonical('::1') && !ip.isCanonical('0:0::1')", True),
    ("string(ip('2001:DB8::0:1'))", "2001:db8::1"),
    ("ip('127.0.0.1').isLoopback() && ip('0.0.0.0').isUnspecified()", True),
    ("ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()", True),
    ("ip('169.254.1.1').isLinkLocalUnicast() && ip('10.0.0.1').isGlobalUnicast()", True),
    ("ip('255.255.255.255').isGlobalUnicast()", False),
    ("cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('::1'))", True),
    ("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))", True),
    ("string(cidr('10.1.2.3/8').masked()) + ' ' + string(cidr('10.1.2.3/8').ip())", "10.0.0.0/8 10.1.2.3"),
    ("cidr('fd00::/8').prefixLength()", 8),
    ("isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0/08')", True),
    ("type(ip('::1')) == net.IP && type(cidr('::/0')) == net.CIDR", True),
]

URLS: list[tuple[str, Any]] = [
    ("url('https://user@example.com:8443/a%20b?x=1&y=2&x=3#top').getHost()", "example.com:8443"),
    ("url('https://[::1]:80/').getHostname() + url('https://h:80').getPort()", "::180"),
    ("url('HTTPS://h/p').getScheme() + url('https://h/a b').getEscapedPath()", "https/a%20b"),
    ("url('/p?x=1&y=a+b&x=3').getQuery()", {"x": ["1", "3"], "y": ["a b"]}),
    ("isURL('/a/b') && isURL('mailto:a@b') && isURL('http://h')", True),
    ("isURL('a/b') || isURL('') || isURL('http://a b/') || isURL('http://h:x/') || isURL('http://h/%zz')", False),
    ("url('http://h') == url('http://h')", True),
]

FORMATS: list[tuple[str, Any]] = [
    ("format.dns1123Label().validate('ok').hasValue()", False),
    ("format.dns1123Label().validate('Not_ok').value()[0].startsWith('a lowercase RFC 1123 label')", True),
    ("format.dns1123Subdomain().validate('a.b').hasValue()", False),
    ("format.dns1035Label().validate('1a').hasValue()", True),
    ("format.qualifiedName().validate('example.com/a').hasValue()", False),
    ("format.dns1123LabelPrefix().validate('a-').hasValue()", False),
    ("format.labelValue().validate('').hasValue()", False),
    ("format.uri().validate('nope').value()", ['parse "nope": invalid URI for request']),
    ("format.uuid().validate('x').value()", ["does not match the UUID format"]),
    ("format.byte().validate('!').value()", ["invalid base64"]),
    ("format.date().validate('2024-02-30').value()", ["invalid date"]),
    ("format.datetime().validate('2024-01-01T00:00:00Z').hasValue()", False),
    ("format.named('dns1123Label').value() == format.dns1123Label()", True),
    ("format.named('nope').hasValue()", False),
]

VERSIONS: list[tuple[str, Any]] = [
    ("semver('1.2.3').isLessThan(semver('1.10.0'))", True),
    ("semver('1.0.0-alpha').isLessThan(semver('1.0.0'))", True),
    ("semver('1.0.0-2').compareTo(semver('1.0.0-10'))", -1),
    (f"isSemver('1.0.0-{'9' * 5000}')", False),
    ("semver('1.0.0-a').isGreaterThan(semver('1.0.0-1'))", True),
    ("semver('1.2.3+x') == semver('1.2.3+y')", True),
    ("semver('v1.2', true).major() + semver('v1.2', true).minor() + semver('v1.2', true).patch()", 3),
    ("isSemver('1.2.3') && !isSemver('v1.2.3') && !isSemver('1.2') && isSemver('01.2', true)", True),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [*TEXTS, *COLLECTIONS, *QUANTITIES, *NETWORK, *URLS, *FORMATS, *VERSIONS],
    ids=str,
)
def test_a_function_gives_what_the_api_server_gives(text: str, expected: Any) -> None:
    value = evaluate(text)
    assert value == expected
    assert type(value) is type(expected)
