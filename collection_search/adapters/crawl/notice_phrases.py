"""What notices say in place of a text: that a page is missing, or what reading it takes."""

from __future__ import annotations

import re
from typing import Final

# The parts are joined in verbose patterns.
_CODE: Final = r"""(?:http\s*)?(?:error|status|fehler)?\s*(?:404|410)\b[\s.!,]*
    (?:error|fehler)?[\s.!,]*"""
_SORRY: Final = r"""(?:(?:we\s+are\s+|we.re\s+)?(?:very\s+|so\s+)?
    (?:sorry|w?h?o+ps|hoppla|unfortunately|leider|uh[\s-]oh)[\s,.!:\u2013-]*
    (?:but\s+|aber\s+)?)?"""
_PAGE: Final = r"""(?:(?:this|the|that|die|diese)\s+)?(?:requested\s+|gesuchte\s+|angeforderte\s+)?
    (?:web\s?)?(?:page|site|seite)"""
_OTHER: Final = r"""(?:(?:this|the|that|der|die|das|dieser?s?)\s+)?(?:requested\s+|gesuchter?\s+)?
    (?:file|document|content|article|post|product|item|resource|url|address
      |datei|dokument|inhalt|artikel|beitrag|produkt|adresse)"""
_IS_MISSING: Final = r"""(?:(?:was|is|could|can|ca)?\s*(?:not|n.t)\s+(?:be\s+)?(?:found|available)
    |(?:does\s+not|doesn.t|no\s+longer)\s+exists? | is\s+gone | gone
    |(?:wurde\s+|ist\s+|konnte\s+)?(?:leider\s+)?nicht\s+(?:mehr\s+)?
      (?:gefunden|verf[üu]gbar|vorhanden)(?:\s+werden)?
    |existiert\s+(?:leider\s+)?nicht(?:\s+mehr)?)"""
_OTHER_TONGUES: Final = r"""page\s+(?:introuvable|non\s+trouv[ée]e)
    | p[áa]gina\s+no\s+encontrada | pagina\s+non\s+trovata"""

MISSING_PAGE: Final = re.compile(
    rf"(?:{_CODE})?{_SORRY}(?:{_PAGE}\s+{_IS_MISSING} | {_OTHER_TONGUES})[\s.!]*",
    re.IGNORECASE | re.VERBOSE,
)
"""Matches a whole part of a title: a page is missing."""
MISSING: Final = re.compile(
    rf"""(?:{_CODE}{_SORRY}(?:(?:(?:{_PAGE}|{_OTHER})\s+)?{_IS_MISSING})?
    | {_SORRY}{_OTHER}\s+{_IS_MISSING})[\s.!]*""",
    re.IGNORECASE | re.VERBOSE,
)
"""The same for a status alone, and for something that a document may be about, such as a file."""

_NAMED: Final = r"""
    (?:page|site|article|url|address|link|content|document|file|resource|post|product)"""
_GENANNT: Final = r"(?:seite|url|adresse|artikel|inhalt|datei|dokument|beitrag|produkt)"
_LOST: Final = r"""(?:(?:not|n.t|no\s+longer|never)\s+(?:be\s+)?
        (?:found|exists?|existing|available|here|there|located)
    |(?:been|was|were|be|is|has|or)\s+(?:moved|removed|deleted|renamed|taken\s+down)
    |\bmoved\s+or\b)"""
_VERLOREN: Final = r"""(?:\bgibt\s+es\b[^!?\n]{0,20}\bnicht\b | \bexistiert\b[^!?\n]{0,20}\bnicht\b
    |\bnicht\s+(?:mehr\s+)?(?:gefunden|verf[üu]gbar|vorhanden|erreichbar|finden)
    |\b(?:verschoben|gel[öo]scht|entfernt|umbenannt)\b)"""
REGRET: Final = re.compile(
    rf"""{_SORRY}(?:it\s+(?:looks|seems|appears)\s+(?:like|that|as\s+if)\s+|es\s+scheint,\s+)?(?:
    (?:the|this|that)\s+{_NAMED}\b[^!?\n]{{0,20}}\byou\b[^!?\n]{{0,30}}
        \b(?:looking\s+for|request\w*|reach|open|visit|find|access|follow\w*)\b
        [^!?\n]{{0,60}}{_LOST}
    |(?:the|this|that)?\s*requested\s+{_NAMED}\b[^!?\n]{{0,100}}{_LOST}
    |th(?:is|e|at)\s+(?:web\s?)?page\s+(?:\w+\s+){{0,2}}?(?:has\s+|could\s*|does\s*|ca|is\s*)?{_LOST}
    |(?:we|i)\s+(?:could\s*not|couldn.t|can\s*not|can.t|(?:are|were)\s+unable\s+to)\s+find\s+
        (?:the|that|this|what)\s+(?:{_NAMED}|you)\b
    |nothing\s+(?:was\s+)?found\s+(?:here|at\s+this)\b
    |(?:die|diese|der|das)?\s*(?:von\s+(?:ihnen|dir)\s+)?
        (?:gesuchte|angeforderte|aufgerufene|gew[üu]nschte)r?s?\s+{_GENANNT}\b[^!?\n]{{0,60}}{_VERLOREN}
    |(?:die|diese)\s+(?:web)?seite\s+[^!?\n]{{0,30}}{_VERLOREN}
    |(?:die|diese)\s+{_GENANNT},\s+die\s+(?:sie|du)\b[^!?\n]{{0,60}}{_VERLOREN}
    |wir\s+(?:k[öo]nnen|konnten)\s+(?:die|diese)\s+[^!?\n]{{0,40}}seite\b[^!?\n]{{0,30}}\bnicht\s+finden
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Matches the beginning of a sentence that says to its reader that a page is missing."""
WAY_OUT: Final = re.compile(
    r"""(?=.*\b(?:you|your|we|us|our|sorry|please|try|here|sie|ihre?[mnrs]?|du|dein\w*|wir|uns\w*
            |bitte|leider|hier)\b)
        (?=.*(?:\bpage|\bsite\b|website|\burl\b|address|\blink|\bhome|search|\bmenu\b|browser|looking
            |seite|adresse|such|men[üu]\b|kontakt|contact)).*
    | (?:try|go|return|back|visit|check|use|take|head|search|start|contact|report
        |zur[üu]ck|zur|gehen?|besuchen?|nutzen?|pr[üu]fen?|versuchen?|suchen?)\b
        (?=.*(?:\bpage|\bsite\b|website|\burl\b|address|\blink|\bhome|search|\bmenu\b
            |seite|adresse|such|men[üu]\b)).*
    | (?:(?:maybe|perhaps|possibly|m[öo]glicherweise|vielleicht|eventuell)\s+\w+\s+)?
        (?:it|es|sie|(?:the|this|that|die|diese)\s+(?:\w+\s+)?(?:page|link|url|address|article
            |content|seite|adresse))\b.*\b(?:moved|removed|deleted|renamed|mistyped|outdated
            |broken|verschoben|gel[öo]scht|entfernt|umbenannt|veraltet)\b.*
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""A sentence that says to the reader of a notice what may have happened, and where to go."""

LOGIN: Final = re.compile(
    r"sign[\s-]?in|log[\s-]?[io]n|anmeld(?:en|ung)|einloggen|connexion|iniciar sesi[óo]n|accedi",
    re.IGNORECASE,
)

_ASK: Final = r"""
    (?:subscribe|sign\s+up|sign\s+in|log\s*in|register|join|become\s+a\s+(?:subscriber|member))"""
_WHOLE: Final = r"""(?:the\s+|this\s+|our\s+)?
    (?:rest\s+of\s+|full\s+|entire\s+|whole\s+|complete\s+|premium\s+|exclusive\s+)*
    (?:the\s+|this\s+)?"""
_TEXT: Final = r"(?:article|story|content|text|page|post|report|issue)s?"
_READERS: Final = r"(?:(?:our|paid|paying|registered|premium|all)\s+)*(?:subscribers|members)"
NOT_FREE: Final = re.compile(
    rf"""(?:please\s+|simply\s+)?{_ASK}(?:(?:\s*,\s*|\s+)(?:(?:or|and)\s+)?{_ASK})*
        (?:\s+(?:now|today|here|for\s+free))?\s+to\s+(?:
            (?:continue|keep(?:\s+on)?|go\s+on)\s+(?:reading|watching|listening)
                (?:\s+{_WHOLE}{_TEXT})?
            |(?:continue\s+to\s+)?(?:read|access|unlock|view|see)\s+
                (?:on|more|everything|{_WHOLE}{_TEXT}|all\s+(?:of\s+)?(?:our\s+)?{_TEXT}))
        (?:\s+(?:for\s+free|now|today))?
    | (?:please\s+)?subscribe(?:\s+(?:now|today))?\s+to\s+continue
    | (?:this|the)\s+{_TEXT}\s+is\s+(?:only\s+|exclusively\s+)?
        (?:for|available\s+(?:to|for)|reserved\s+for|exclusive\s+to)\s+{_READERS}(?:\s+only)?
    | (?:for\s+)?subscribers\s+only
    | (?:are\s+you\s+)?already\s+a\s+(?:subscriber|paying\s+member)(?:\s*,?\s*{_ASK}(?:\s+here)?)?
    | become\s+a\s+(?:subscriber|paying\s+member)(?:\s+(?:now|today))?
    | (?:jetzt\s+)?weiter\s*(?:zu)?lesen\s+mit\b[^:,;]{{0,30}}\b(?:abo|plus)\b[^:,;]{{0,20}}
    | jetzt\s+lesen\s+mit\b[^:,;]{{0,30}}\b(?:abo|plus)\b[^:,;]{{0,20}}
    | (?:jetzt|weiter)\s+mit\b[^:,;]{{0,30}}(?:\babo|\bplus|\+)\s*(?:weiter\s*)?(?:lesen)?
    | (?:(?:dieser|der|das|dieses)\s+(?:artikel|beitrag|text|inhalt)\s+ist\s+)?
        (?:nur|exklusiv)\s+f[üu]r\s+abonnent(?:en|innen)(?:\s+und\s+abonnent(?:en|innen))?
        (?:\s+(?:verf[üu]gbar|lesbar|zug[äa]nglich|sichtbar))?
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Matches a whole sentence that offers the rest of a text for money or a login."""
