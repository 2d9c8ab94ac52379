"""As much of wget as probes and scripts of samples use: fetch one address, print it or keep it.

Standard library only, because it runs inside containers. Ends with wget's own codes: 4 the network, 8 the server.
"""

import argparse
import http.client
import shutil
import ssl
import sys
from pathlib import Path
from urllib.parse import urljoin, urlsplit

_BAD_USE, _NO_FILE, _NO_NETWORK, _REFUSED = 2, 3, 4, 8
_MOST_REDIRECTS = 20


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    url = options.url if "://" in options.url else f"http://{options.url}"
    if urlsplit(url).scheme not in ("http", "https"):
        _say(f"wget: {url}: only http and https are known here")
        return _BAD_USE
    try:
        return _fetch(url, options)
    except (OSError, http.client.HTTPException) as error:
        _say(f"wget: can't fetch {url}: {error}")
        return _NO_NETWORK


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="wget", description="A stand-in for wget with its usual options.")
    parser.add_argument("url")
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("-O", "--output-document", metavar="FILE", help="- prints")
    parser.add_argument("-T", "--timeout", type=float, default=900.0, metavar="SECONDS")
    parser.add_argument("-t", "--tries", type=int, default=1, metavar="NUMBER", help="is accepted; there is one try")
    parser.add_argument("-S", "--server-response", action="store_true")
    parser.add_argument("--header", action="append", default=[], metavar="NAME: VALUE")
    parser.add_argument("--spider", action="store_true", help="only look whether it is there")
    parser.add_argument("--no-check-certificate", action="store_true")
    return parser


def _fetch(url: str, options: argparse.Namespace) -> int:
    for _ in range(_MOST_REDIRECTS):
        connection = _connect(url, options)
        try:
            answer = _ask(connection, url, options)
            if answer.status in (301, 302, 303, 307, 308) and answer.getheader("Location"):
                url = urljoin(url, answer.getheader("Location", ""))
                continue
            return _take(answer, url, options)
        finally:
            connection.close()
    _say(f"wget: {_MOST_REDIRECTS} redirections exceeded")
    return _REFUSED


def _connect(url: str, options: argparse.Namespace) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https":
        return http.client.HTTPConnection(host, parts.port, timeout=options.timeout)
    context = ssl.create_default_context()
    if options.no_check_certificate:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return http.client.HTTPSConnection(host, parts.port, timeout=options.timeout, context=context)


def _ask(connection: http.client.HTTPConnection, url: str, options: argparse.Namespace) -> http.client.HTTPResponse:
    parts = urlsplit(url)
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    headers = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in options.header)}
    connection.request("HEAD" if options.spider else "GET", path, headers={"User-Agent": "Wget", **headers})
    answer = connection.getresponse()
    if options.server_response:
        _say(f"  HTTP/1.1 {answer.status} {answer.reason}")
    return answer


def _take(answer: http.client.HTTPResponse, url: str, options: argparse.Namespace) -> int:
    if answer.status >= 400:
        _say(f"wget: server returned error: HTTP/1.1 {answer.status} {answer.reason}")
        return _REFUSED
    if options.spider:
        return 0
    target = options.output_document or Path(urlsplit(url).path).name or "index.html"
    if target == "-":
        shutil.copyfileobj(answer, sys.stdout.buffer)
        sys.stdout.flush()
        return 0
    try:
        with Path(target).open("wb") as file:
            shutil.copyfileobj(answer, file)
    except IsADirectoryError:
        _say(f"wget: {target}: is a directory")
        return _NO_FILE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
