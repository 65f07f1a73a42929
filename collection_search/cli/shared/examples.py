"""Examples of each command and sub-command, at the end of its help."""

from __future__ import annotations

from typing import Any, Final

NAME: Final = "collection-search"
EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "": (
        'run "What is a TaskGroup?" -c py --auto-ingest',
        'ask "What is a TaskGroup?" -c py',
    ),
    "run": (
        'run "What is a TaskGroup?" -c py --auto-ingest',
        'run "What is a TaskGroup?" -c py --estimate',
    ),
    "review": ("review", "review GATE --approve 1,3-5"),
    "decisions": ("decisions stats --by week",),
    "decisions stats": ("decisions stats --since 30d --by day",),
    "decisions export": ("decisions export judgements --collection py",),
    "search": (
        'search "cancel an asyncio task" --max-results 5',
        'search "asyncio" --include docs.python.org --restrict',
    ),
    "ask": ('ask "What is a TaskGroup?" -c py --k 3',),
    "coverage": ("coverage -c py", 'coverage "What is a TaskGroup?" -c py'),
    "page": ("page https://docs.python.org/3/library/asyncio-task.html",),
    "collections": ("collections", "collections show py"),
    "collections list": ("collections list --json",),
    "collections show": ("collections show py",),
    "collections refresh": ("collections refresh py --max-cost 0.50",),
    "collections forget": (
        'collections forget py --question "What is a TaskGroup?"',
        "collections forget py --crawl https://docs.python.org/3/",
    ),
    "collections export": ("collections export py --output py.jsonl",),
    "collections import": ("collections import py.jsonl --collection copy",),
    "collections delete": (
        "collections delete py",
        "collections delete py --document https://docs.acme.com/",
    ),
    "collections purge": ("collections purge --older-than 90d",),
    "collections delete-tenant": ("collections delete-tenant --tenant acme",),
    "collections compact": ("collections compact",),
    "collections reembed": ("collections reembed py --embeddings lexical --yes",),
    "corpus": ("corpus", "corpus add docs/"),
    "corpus add": ("corpus add docs/ --name handbook",),
    "corpus list": ("corpus list",),
    "corpus remove": ("corpus remove handbook",),
    "ingest": ("ingest add https://docs.python.org/3/ -c py",),
    "ingest add": (
        "ingest add https://docs.python.org/3/ -c py",
        "ingest add https://docs.acme.com/ -c acme --depth 2",
    ),
    "ingest failed": ("ingest failed -c py",),
    "ingest retry-failed": ("ingest retry-failed -c py",),
    "worker": ("worker", "worker --once"),
    "serve": ("serve", "serve --port 9000 --open"),
    "mcp": ("mcp", "mcp --http 127.0.0.1:8765 --tools web_search,read_page"),
    "costs": ("costs --since 30d --by run",),
    "eval": ("eval --dataset scifact --queries 100 --report scifact.md",),
    "keys": ("keys list", "keys set tavily"),
    "keys set": ("keys set tavily",),
    "keys list": ("keys list",),
    "keys remove": ("keys remove tavily",),
    "tokens": ("tokens list", "tokens add ann --role reviewer"),
    "tokens add": ("tokens add ann --role reviewer", "tokens add bob --tenant acme"),
    "tokens list": ("tokens list",),
    "tokens remove": ("tokens remove ann",),
    "migrate": ("migrate --to postgresql://me@localhost/collections",),
    "doctor": ("doctor", "doctor --provider tavily --spend"),
}
"""The examples of each command by its path, without the command's name."""


def add_examples(command: Any, path: str) -> None:
    """Give the command its examples, and each of its sub-commands."""
    if lines := EXAMPLES.get(path):
        title = "Example:" if len(lines) == 1 else "Examples:"
        # \b keeps the lines as they are
        command.epilog = "\n".join(["\b", title, *(f"  {NAME} {line}" for line in lines)])
    for name, sub_command in getattr(command, "commands", {}).items():
        add_examples(sub_command, f"{path} {name}")
