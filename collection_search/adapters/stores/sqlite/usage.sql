-- One file: quotas, remembered answers, and what was spent.

CREATE TABLE quotas (
    provider TEXT NOT NULL,
    key_id TEXT NOT NULL,
    period TEXT NOT NULL,               -- 2026-11 or 2026-11-21
    used INTEGER NOT NULL,              -- with open reservations
    PRIMARY KEY (provider, key_id, period)
) WITHOUT ROWID;

CREATE TABLE answers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,   -- never given twice: what is new has a greater one
    tenant_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    key_hash BLOB NOT NULL,             -- keys hold queries, which are private and long
    payload BLOB NOT NULL,              -- TEXT in files of before
    stored_at REAL NOT NULL,
    UNIQUE (tenant_id, kind, key_hash)
);
CREATE INDEX answers_by_age ON answers (stored_at);

CREATE TABLE spend (
    id INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    at REAL NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('search', 'chat', 'embedding', 'crawl')),
    name TEXT NOT NULL,
    requests INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_usd TEXT,                      -- a decimal number; NULL: not known
    cached INTEGER NOT NULL
);
CREATE INDEX spend_by_time ON spend (tenant_id, at);
CREATE INDEX spend_by_run ON spend (tenant_id, run_id);

-- What runs were asked.
CREATE TABLE IF NOT EXISTS run_questions (
    tenant_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    question TEXT NOT NULL,
    PRIMARY KEY (tenant_id, run_id)
) WITHOUT ROWID;
