-- From version 1: tables that gained more than columns are built anew, with their ids.

-- JSON has no NaN, and columns are made from it now.
UPDATE documents SET provenance =
    replace(replace(replace(provenance, 'NaN', 'null'), '-Infinity', 'null'), 'Infinity', 'null')
WHERE NOT json_valid(provenance);

CREATE TABLE documents_2 (
    id INTEGER PRIMARY KEY,
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    url_key TEXT NOT NULL,
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    provenance TEXT NOT NULL,           -- JSON
    stored_at REAL NOT NULL,            -- or last found unchanged
    host TEXT GENERATED ALWAYS AS (lower(substr(
        replace(substr(url, instr(url, '://') + 3), '?', '/') || '/', 1,
        instr(replace(substr(url, instr(url, '://') + 3), '?', '/') || '/', '/') - 1))) STORED,
    provider TEXT GENERATED ALWAYS AS (json_extract(provenance, '$.provider')) STORED,
    source TEXT GENERATED ALWAYS AS (json_extract(provenance, '$.source')) STORED,
    published TEXT GENERATED ALWAYS AS (
        CASE WHEN json_extract(provenance, '$.published_date')
            GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'
        THEN substr(json_extract(provenance, '$.published_date'), 1, 10) END) STORED,
    is_pdf INTEGER GENERATED ALWAYS AS (
        json_extract(provenance, '$.is_pdf') IS 1
        OR json_extract(provenance, '$.page_kind') IS 'pdf'
        OR lower(url) LIKE '%.pdf') STORED,
    UNIQUE (collection_id, url_key)
);
INSERT INTO documents_2 (
    id, collection_id, url_key, url, title, content_hash, provenance, stored_at)
SELECT id, collection_id, url_key, url, title, content_hash, provenance,
    CAST(strftime('%s', 'now') AS REAL)
FROM documents;
DROP TABLE documents;
ALTER TABLE documents_2 RENAME TO documents;
CREATE INDEX documents_by_facts
    ON documents (collection_id, provider, source, host, is_pdf, published, url);

CREATE TABLE ledger_2 (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    url_key TEXT NOT NULL,
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    content_ref TEXT,                   -- the text that a provider delivered
    provenance TEXT NOT NULL,           -- JSON
    state TEXT NOT NULL CHECK (
        state IN ('waiting', 'to_fetch', 'working', 'stored', 'dead', 'retired')),
    due REAL NOT NULL DEFAULT 0,        -- waiting, to_fetch: not before; working: end of the lease
    owner TEXT,                         -- of a working row
    attempts INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0,   -- raised whenever the row changes hands
    error TEXT,                         -- of the last attempt
    refresh INTEGER NOT NULL DEFAULT 0, -- to be fetched although something is stored
    postponed INTEGER NOT NULL DEFAULT 0,
    fetched TEXT,                       -- JSON: the page that is stored, as it was fetched
    change TEXT,                        -- what the last work on the page made of it
    changed_at REAL NOT NULL DEFAULT 0, -- when it was stored, buried or retired
    host TEXT GENERATED ALWAYS AS (lower(substr(
        replace(substr(url, instr(url, '://') + 3), '?', '/') || '/', 1,
        instr(replace(substr(url, instr(url, '://') + 3), '?', '/') || '/', '/') - 1))) STORED,
    UNIQUE (collection_id, url_key)
);
INSERT INTO ledger_2 (
    id, collection_id, url_key, url, title, content_ref, provenance, state, due, owner, attempts,
    fence, error, changed_at)
SELECT id, collection_id, url_key, url, title, content_ref, provenance, state, due, owner, attempts,
    fence, error, CAST(strftime('%s', 'now') AS REAL)
FROM ledger;
DELETE FROM sqlite_sequence WHERE name = 'ledger_2';
INSERT INTO sqlite_sequence (name, seq)
    SELECT 'ledger_2', seq FROM sqlite_sequence WHERE name = 'ledger';
DROP TABLE ledger;
ALTER TABLE ledger_2 RENAME TO ledger;
CREATE INDEX ledger_by_state ON ledger (state, attempts, id);
CREATE INDEX ledger_by_due ON ledger (state, due);
CREATE INDEX ledger_by_content ON ledger (content_ref);

CREATE TABLE questions (
    id INTEGER PRIMARY KEY,
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    question TEXT NOT NULL,
    record TEXT NOT NULL,               -- JSON
    first_asked_at REAL NOT NULL,
    last_asked_at REAL NOT NULL,
    UNIQUE (collection_id, question)
);

-- Candidates that were acquired and may be ingested later; their collection need not exist.
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    collection TEXT NOT NULL,
    created_at REAL NOT NULL,
    facts TEXT NOT NULL                 -- JSON
) WITHOUT ROWID;
CREATE INDEX sessions_by_tenant ON sessions (tenant_id, collection);

CREATE TABLE session_candidates (
    session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
    position INTEGER NOT NULL,
    candidate TEXT NOT NULL,            -- JSON
    url_key TEXT GENERATED ALWAYS AS (json_extract(candidate, '$.url_key')) STORED,
    content_ref TEXT GENERATED ALWAYS AS (json_extract(candidate, '$.content_ref')) STORED,
    PRIMARY KEY (session_id, position)
) WITHOUT ROWID;
CREATE INDEX session_candidates_by_content ON session_candidates (content_ref);
