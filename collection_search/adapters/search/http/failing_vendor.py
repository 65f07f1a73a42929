"""What a vendor's refusals, and answers that cannot be used, become."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from ....errors import BY_CODE, ErrorCode, SearchProviderBadResponse, SearchProviderError
from ....text.known_secrets import KnownSecrets
from ....text.redaction import redact
from ...refusals import MAX_TEXT_CHARS, VendorRefusal, describe_refusal, read_refusal
from .declaration import DeclaredProvider
from .error_mapping import BY_KIND, FailureRules, classify

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...http import FailureKind, HttpResponse

T = TypeVar("T")


class FailingVendor(DeclaredProvider):
    """The part of a vendor that makes errors of its failures; no message shows the key."""

    rules: ClassVar[FailureRules] = FailureRules()
    """The meaning of the vendor's refusals where HTTP does not define it."""

    def refusal(self, response: HttpResponse, answer: Any) -> VendorRefusal:
        """Return the refusal in a response; `answer` is its JSON value, None without one."""
        return read_refusal(response, answer)

    def meaning(self, refusal: VendorRefusal) -> ErrorCode:
        """Return the error code of a refusal; overridden where `rules` are not enough."""
        return classify(refusal, self.rules)

    def wait_s(self, response: HttpResponse) -> float | None:  # noqa: ARG002 - for subclasses
        """Return the waiting time in a header that only this vendor has."""
        return None

    def read(self, make: Callable[[HttpResponse], T], response: HttpResponse) -> T:
        """Return `make(response)`. Raises SearchProviderBadResponse for an unknown form."""
        try:
            return make(response)
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise SearchProviderBadResponse(
                f"{self.title} gave an answer of an unknown form. Use another provider.",
                http_status=response.status,
            ) from error

    def unusable(self, what: str, response: HttpResponse) -> NoReturn:
        """Raise SearchProviderBadResponse for a successful answer that cannot be used."""
        raise SearchProviderBadResponse(
            f"{self.title} answered with {what} (HTTP {response.status}). "
            f"Check {self.address_variable}, or use another provider.{self._end()}",
            http_status=response.status,
        )

    def failure(self, refusal: VendorRefusal, response: HttpResponse) -> SearchProviderError:
        """Return the error for a refusal; its message never shows the key."""
        code = self.meaning(refusal)
        sentence = self.rules.sentence(
            code, refusal, response.status, has_key=bool(self.key())
        ).format(name=self.title, key=self.key_variable, address=self.address_variable)
        wait_s = refusal.wait_s
        if wait_s is None and code == "rateLimited":
            wait_s = self.wait_s(response) or None
        return BY_CODE[code](
            f"{sentence}{self._end()} ({self._shown(describe_refusal(refusal, response.status))})",
            retryable=None if self.rules.once_more.isdisjoint(refusal.codes) else True,
            retry_in_ms=None if wait_s is None else math.ceil(wait_s * 1000),
            http_status=response.status,
        )

    def unanswered(self, kind: FailureKind, reason: str) -> SearchProviderError:
        """Return the error for a call without a complete answer."""
        make, sentence = BY_KIND[kind]
        return make(
            sentence.format(
                name=self.title, reason=self._shown(reason), address=self.address_variable
            )
            + self._end()
        )

    def _end(self) -> str:
        ended = self.ends_on is not None and self.today() >= self.ends_on
        return f" {self.sunset()}" if ended else ""

    def _shown(self, text: str) -> str:
        """Return the text with the key and other secrets redacted."""
        return redact(KnownSecrets([self.key()]).redact(text), most=MAX_TEXT_CHARS)
