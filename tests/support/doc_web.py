"""The web of the documentation's examples: a proxy on the loopback address that answers for every host itself.

With `COLLECTION_SEARCH_FETCH_PROXY` and `SSL_CERT_FILE` set, a command fetches `https://docs.example.org/` as it
would on the web: through CONNECT and TLS, by a certificate of a CA that is made for the run.
"""

from __future__ import annotations

import functools
import ssl
import tempfile
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from collections.abc import Iterator

LINKS: Final = ("tasks.html", "timeouts.html")
TEXT: Final = (
    "<p>A task is cancelled by its method cancel. The task gets a CancelledError at its next await.</p>"
    "<p>To cancel an asyncio task after a timeout, use asyncio.timeout or asyncio.wait_for. Both"
    " cancel what they wait for, and raise a TimeoutError then.</p>"
)


class _Site(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def do_CONNECT(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb", buffering=0)
        self.close_connection = False

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2] or "index.html"
        is_page = name.endswith(".html") or "." not in name
        links = "".join(f'<a href="/{link}">{link}</a> ' for link in LINKS)
        title = f"Asyncio {name.removesuffix('.html')}"
        page = (
            f'<html lang="en"><head><title>{title}</title></head>'
            f"<body><main><h1>{title}</h1>{TEXT}<p>About {name}.</p></main>{links}</body></html>"
        ).encode()
        self.send_response(200 if is_page else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def finish(self) -> None:
        super().finish()
        self.connection.close()  # where TLS began, it is another object than the server's

    def log_message(self, *_: Any) -> None: ...


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, tls: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), _Site)
        self.tls = tls


class _Authority:
    """Signs a certificate for each host that is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = self._sign("examples", self._key, ca=True)
        self.path = folder / "ca.pem"
        self.path.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def context(self) -> ssl.SSLContext:
        """Return what a server wraps its connections with."""
        context = self._context_of("localhost")
        context.sni_callback = self._choose
        return context

    def _choose(self, connection: Any, host: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._context_of(host or "localhost")

    @functools.cache  # noqa: B019 - lives as long as the server
    def _context_of(self, host: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        path = self._folder / f"{host}.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + self._sign(host, key).public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def _sign(
        self, name: str, key: ec.EllipticCurvePrivateKey, *, ca: bool = False
    ) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if ca else self._certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )


@contextmanager
def example_web() -> Iterator[dict[str, str]]:
    """Serve every host; yields the variables that lead there."""
    with tempfile.TemporaryDirectory() as folder:
        authority = _Authority(Path(folder))
        server = _Server(authority.context())
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield {
                "COLLECTION_SEARCH_FETCH_PROXY": f"http://127.0.0.1:{server.server_port}",
                "SSL_CERT_FILE": str(authority.path),
            }
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
