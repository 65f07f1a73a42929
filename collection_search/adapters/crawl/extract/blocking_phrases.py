"""What challenges and notices to enable JavaScript say, in their text and in their markup."""

from __future__ import annotations

import re
from typing import Final

CERTAIN_MARKS: Final = re.compile(
    r"""_cf_chl_|cf[-_]chl[-_]|cf-browser-verification|jschl[-_](?:answer|vc)|/cdn-cgi/l/chk_
    |challenge-platform/(?![^"'\s]{0,80}/jsd/)[^"'\s]{0,80}orchestrate|captcha-delivery\.com
    |px-captcha|_Incapsula_Resource[^"'\s]{0,300}(?:incident|edet=|xinfo=)|sec-if-cpt
    |/_sec/cp_challenge|errors\.edgesuite\.net|sucuri_cloudproxy|gokuProps|distil_r_captcha
    |anubis_challenge|within\.website/x/cmd/anubis|vercel/security
    |check\.ddos-guard\.net""",
    re.IGNORECASE | re.VERBOSE,
)
"""Marks in the markup of challenges alone."""
LIKELY_MARKS: Final = re.compile(
    r"""challenge-platform/(?![^"'\s]{0,80}/jsd/)|challenges\.cloudflare\.com|_Incapsula_
    |cf-error-details|cf-wrapper|cf\.errors\.css|captcha|turnstile|perimeterx|_pxAppId|awswaf
    |datadome|perfdrive|bm-verify|geetest""",
    re.IGNORECASE | re.VERBOSE,
)
"""Marks that documents have too, so that a phrase must come with them."""


def _phrases(*groups: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Return a pattern for each group; it matches the beginning of a sentence."""
    opening = r"(?:please|sorry|bitte|error\s*\d*|fehler\s*\d*|one\s+more\s+step)?[\s,:!|–-]*"  # noqa: RUF001
    joined = ("|".join(group).replace(" ", r"\s+").replace("'", "['’]") for group in groups)  # noqa: RUF001
    return tuple(re.compile(f"{opening}(?:{one})", re.IGNORECASE) for one in joined)


DENIED, CAPTCHA, *_OTHERS = _phrases(
    (
        r"access (?:to this (?:page|site) (?:has been )?)?denied(?=\W*(?:$|[|–-]))",  # noqa: RUF001
        r"zugriff (?:verweigert|gesperrt)(?=\W*$)",
    ),
    (r"captcha(?=\W*$)",),
    (
        r"just a moment(?=\W*$)",
        r"(?:nur )?(?:einen|ein)(?: kleinen)? moment(?:,? bitte)?(?=\W*$)",
        r"un (?:instant|momento)(?:,? \S+ \S+ \S+|,? por favor)?(?=\W*$)",
        r"(?:один момент|请稍候|しばらくお待ちください|잠시만 기다리십시오)(?=\W*$)",
    ),
    (r"attention required(?=\W*(?:$|cloudflare))",),
    (
        r"(?:we are |we're )?(?:checking|verifying) (?:if )?(?:your browser|the site connection)",
        r"(?:ihr|der) browser wird (?:überprüft|geprüft)",
        r"(?:wir )?(?:überprüfen|prüfen) (?:gerade )?ihren browser",
        r"vérification de votre navigateur",
        r"(?:comprobando|verificando) (?:su|tu) navegador",
    ),
    (
        r"[^.!?\n]{0,40}\b(?:verify\w*|confirm|prove|sure)(?: that)? you(?:'re| are)(?: a)? human",
        r"[^.!?\n]{0,40}\b(?:verify|confirm|prove|sure)(?: that)? you(?:'re| are) not a (?:ro)?bot",
        r"are you (?:a )?(?:human|robot|bot)(?=\W*$)",
        r"press (?:&|and) hold",
        r"i(?:'m| am) not a robot",
        r"human verification(?=\W*$)",
        r"(?:bestätigen sie|wir müssen (?:über)?prüfen),? (?:dass|ob) sie (?:ein|kein)",
        r"sind sie (?:ein mensch|ein roboter)",
        r"ich bin kein roboter",
        r"vérifiez que vous êtes",
        r"verifique que (?:usted )?es",
        r"подтвердите, что вы",
        r"确认您是真人",
    ),
    (
        r"(?:performing )?security (?:check|verification)(?=\W*$)",
        r"sicherheits(?:über)?prüfung(?=\W*$)",
        r"(?:vercel )?security checkpoint",
        r"(?:robot check|bot verification)(?=\W*$)",
        r"vérification de sécurité(?=\W*$)",
        r"verificación de seguridad(?=\W*$)",
        r"(?:百度)?安全验证",
    ),
    (
        r"(?:complete|solve) the (?:security check|captcha|challenge)",
        r"(?:enter|type) the characters you see",
        r"lösen sie das captcha",
    ),
    (
        r"ddos protection by",
        r"ddos-guard",
        r"performance (?:&|and) security by cloudflare",
        r"(?:cloudflare )?ray id\b",
    ),
    (
        r"[^!?\n]{0,80}used cloudflare to restrict access",
        r"(?:[^.!?\n]{0,20}\b)?you have been blocked",
        r"you don't have permission to access [\"“]https?:",
        r"reference #[\da-f.]+",
    ),
    (r"request unsuccessful", r"incapsula incident", r"incident id"),
    (
        r"pardon our interruption",
        r"the requested url was rejected",
        r"your support id",
        r"something about your browser made us think",
    ),
    (
        r"(?:our systems? ha(?:s|ve) |we )?detected unusual (?:traffic|activity)",
        r"(?:wir haben )?ungewöhnliche[rn]? (?:datenverkehr|zugriffe|aktivität)",
    ),
    (
        r"enable (?:js|javascript) and (?:disable any ad blocker|cookies)",
        r"(?:aktivieren sie )?javascript und cookies",
    ),
    (r"this process is automatic", r"your browser will redirect"),
)
CHALLENGES: Final = (DENIED, CAPTCHA, *_OTHERS)
"""Beginnings of the sentences of a challenge, one pattern for each thing that is said.

`DENIED` is what a site may say to those who are not signed in, too. `CAPTCHA` is also the title of
pages about captchas."""

SCRIPT_WORD: Final = re.compile(
    r"java\s?script(?!\.enabled)|\bjs\b|ジャバスクリプト|джаваскрипт", re.IGNORECASE
)
SCRIPT_NEED: Final = re.compile(
    r"""\b(?:enabl|turn(?:ed)?\s+(?:\w+\s+)?o(?:n|ff)|activ|requir|need|without|disabled|necessar
    |supported|aktiv|deaktiv|(?:ein|aus)geschaltet|einschalten|erforderlich|benötig|notwendig|ohne
    |zulassen|unterstütz|désactiv|nécessa|nécessit|requis|habilit|deshabilit|desactiv|necesari
    |abilit|disabilit|necessari|ativ|desativ|inschakel|ingeschakeld|uitgeschakeld|vereist|aktiver
    |slå|włącz|wymaga|zapn|engedélyez|включ|отключ|необходим|увімкн|etkinleştir|gerekli)
    |有効|無効|必要|启用|啟用|禁用|开启|打开|需要|활성화|필요|تمكين|تفعيل|सक्षम""",
    re.IGNORECASE | re.VERBOSE,
)
"""Beginnings of words: a sentence of a notice has one of them beside the name of the language."""
EXPLAINING: Final = re.compile(
    r"(?:how|what|why|when|wie|was|warum|wann|comment|pourquoi|qu['’]est|qué|cómo|cosa)\b",  # noqa: RUF001
    re.IGNORECASE,
)
"""The beginning of a sentence that explains something."""
HOW_TO: Final = re.compile(
    r"""(?:(?:to|pour|para|per)\s+(?:re-?)?
            (?:enable|turn|activate|allow|switch|disable|activer|activar|habilitar|attivare|abilitare)
            \b[^,:\n]{0,20}\bjava\s?script\b[^,:\n]{0,80}
        |um\s+java\s?script\b[^,:\n]{0,60}\b(?:zu|ein|aus|ab)[^,:\n]{3,20}
        |(?:in|on|with|bei|unter)\s+(?:\w+\s+){0,3}
            (?:firefox|chrome|safari|edge|opera|brave|vivaldi|android|ios)\b[^,:\n]{0,20}
        )[,:]\s*(?:\w+\s+){0,3}
        (?:open|click|go|choose|select|set|tap|type|enter|öffne\w*|klick\w*|wähl\w*|ruf\w*|geb\w*
        |ouvr\w+|cliqu\w+|abr\w+|haga|apr\w+)\s(?!on\s+the\s+link|here|hier|ici).{10}""",
    re.IGNORECASE | re.VERBOSE,
)
"""The beginning of a sentence that names the steps in a browser's menus or settings."""
THIS_PAGE: Final = re.compile(
    r"""\bth(?:is|e)\s+(?:\w+\s+)?(?:web\s?)?(?:site|page|app|application|content)\b|\bcontinue\b
    |\bproceed\b|\bdiese[mnrs]?\s+(?:\w+\s+)?(?:web)?(?:seite|site|anwendung|inhalt)|fortfahren
    |\bcette\s+page|\besta\s+página|\bquesta\s+pagina|このページ|此页|本页""",
    re.IGNORECASE | re.VERBOSE,
)
"""What a notice says of the page that it stands on."""
LOADING: Final = re.compile(
    r"""(?:loading|(?:wird\s+)?geladen|lädt|bitte\s+warten|please\s+wait|chargement|cargando
    |caricamento|carregando|загрузка|読み込み中|加载中|로딩)(?:\s+[^.!?\n]{0,30})?\W*""",
    re.IGNORECASE | re.VERBOSE,
)
"""A whole line that stands where a script puts the text later."""
SENTENCES: Final = re.compile(r"[^\n.!?。！？]+(?:\.(?=\S)[^\n.!?。！？]+)*")  # noqa: RUF001
