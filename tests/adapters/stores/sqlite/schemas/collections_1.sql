-- One file: staged texts, the ledger with its tickets, and the collections.

BEGIN IMMEDIATE;

CREATE TABLE IF NOT EXISTS staged (
    id INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    content_ref TEXT NOT NULL,
    text TEXT NOT NULL,
    staged_at REAL NOT NULL,
    UNIQUE (tenant_id, content_ref)
);
CREATE INDEX IF NOT EXISTS staged_by_age ON staged (staged_at);

-- Ids are never used twice: they name the collection in chunk_words and in memory.
CREATE TABLE IF NOT EXISTS collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id TEXT NOT NULL,
    name TEXT NOT NULL,
    embedder TEXT,                      -- fingerprint; NULL: searched by its words alone
    changes INTEGER NOT NULL DEFAULT 0, -- raised by every write to the content
    UNIQUE (tenant_id, name)
);

CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY,
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    url_key TEXT NOT NULL,
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    provenance TEXT NOT NULL,           -- JSON
    UNIQUE (collection_id, url_key)
);

CREATE TABLE IF NOT EXISTS chunks (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    vector BLOB,                        -- float32, little-endian, unit length
    text TEXT NOT NULL,
    UNIQUE (document_id, ordinal)
);

-- rowid = chunks.id; title and body hold stems; part names the collection.
CREATE VIRTUAL TABLE IF NOT EXISTS chunk_words USING fts5 (
    part, title, body, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER IF NOT EXISTS chunk_words_follow_chunks AFTER DELETE ON chunks BEGIN
    DELETE FROM chunk_words WHERE rowid = old.id;
END;

-- Ids are never used twice: a worker may come back with the id of a deleted row.
CREATE TABLE IF NOT EXISTS ledger (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    url_key TEXT NOT NULL,
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    content_ref TEXT,
    provenance TEXT NOT NULL,           -- JSON
    state TEXT NOT NULL CHECK (state IN ('waiting', 'to_fetch', 'working', 'stored', 'dead')),
    due REAL NOT NULL DEFAULT 0,        -- waiting: not before; working: end of the lease
    owner TEXT,                         -- of a working row
    attempts INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0,   -- raised whenever the row changes hands
    error TEXT,                         -- of the last attempt
    UNIQUE (collection_id, url_key)
);
CREATE INDEX IF NOT EXISTS ledger_by_state ON ledger (state, attempts, id);
CREATE INDEX IF NOT EXISTS ledger_by_content ON ledger (content_ref);

CREATE TABLE IF NOT EXISTS tickets (
    id TEXT PRIMARY KEY,
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tickets_by_collection ON tickets (collection_id);

CREATE TABLE IF NOT EXISTS ticket_rows (
    ticket_id TEXT NOT NULL REFERENCES tickets ON DELETE CASCADE,
    row_id INTEGER NOT NULL REFERENCES ledger ON DELETE CASCADE,
    position INTEGER NOT NULL,
    PRIMARY KEY (ticket_id, row_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ticket_rows_by_row ON ticket_rows (row_id);

PRAGMA application_id = 1129530434;     -- "CSDB": this file belongs to this package
PRAGMA user_version = 1;

COMMIT;
