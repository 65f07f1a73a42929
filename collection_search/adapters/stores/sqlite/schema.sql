-- One file: staged texts, the ledger with its tickets, and the collections.

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
    turn INTEGER NOT NULL DEFAULT 0,    -- when it was served last, for taking turns
    deleted_at REAL,                    -- of a collection that is being deleted in steps
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
    revision INTEGER NOT NULL DEFAULT 0, -- collections.changes when its chunks were written
    UNIQUE (collection_id, url_key)
);
-- What a search may be narrowed by, so that it need not read the documents.
CREATE INDEX IF NOT EXISTS documents_by_facts
    ON documents (collection_id, provider, source, host, is_pdf, published, url);
-- What came or went since a count of changes.
CREATE INDEX IF NOT EXISTS documents_by_revision ON documents (collection_id, revision);
-- Documents with equal text.
CREATE INDEX IF NOT EXISTS documents_by_text ON documents (collection_id, content_hash);

CREATE TABLE IF NOT EXISTS chunks (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    vector BLOB,                        -- float32, little-endian, unit length
    text TEXT NOT NULL,
    headings TEXT,                      -- JSON: those above it, outermost first; NULL: none
    page INTEGER,                       -- the first one of a PDF, from 1
    table_header TEXT,                  -- of the table that the chunk continues
    UNIQUE (document_id, ordinal)
);

-- rowid = chunks.id; title and body hold stems; part names the collection. Marks belong to words.
CREATE VIRTUAL TABLE IF NOT EXISTS chunk_words USING fts5 (
    part, title, body,
    tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mc Mn'"
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
    content_ref TEXT,                   -- the text that a provider delivered
    provenance TEXT NOT NULL,           -- JSON
    state TEXT NOT NULL CHECK (
        state IN ('waiting', 'to_fetch', 'working', 'stored', 'dead', 'retired')),
    due REAL NOT NULL DEFAULT 0,        -- waiting, to_fetch, retired: not before; working: end of the lease
    owner TEXT,                         -- of a working row
    attempts INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0,   -- raised whenever the row changes hands
    error TEXT,                         -- of the last attempt
    refresh INTEGER NOT NULL DEFAULT 0, -- to be fetched although something is stored
    postponed INTEGER NOT NULL DEFAULT 0,
    fetched TEXT,                       -- JSON: the page that is stored, as it was fetched
    change TEXT,                        -- what the last work on the page made of it
    changed_at REAL NOT NULL DEFAULT 0, -- when it was stored, buried or retired; kept while a gone page is asked for
    host TEXT GENERATED ALWAYS AS (lower(substr(
        replace(substr(url, instr(url, '://') + 3), '?', '/') || '/', 1,
        instr(replace(substr(url, instr(url, '://') + 3), '?', '/') || '/', '/') - 1))) STORED,
    priority INTEGER NOT NULL DEFAULT 0, -- lower is taken first: 0 asked for, more: refreshes
    cause TEXT,                         -- of a postponement: what its pause in `pauses` is called
    policy TEXT,                        -- JSON: what a fetch of this row may do; NULL: the settings
    extracted_ref TEXT,                 -- the staged text of a fetch whose embedding failed
    extracted TEXT,                     -- JSON: title and facts of that fetch
    UNIQUE (collection_id, url_key)
);
CREATE INDEX IF NOT EXISTS ledger_by_state ON ledger (state, attempts, id);
CREATE INDEX IF NOT EXISTS ledger_by_due ON ledger (state, due);
CREATE INDEX IF NOT EXISTS ledger_by_content ON ledger (content_ref);
CREATE INDEX IF NOT EXISTS ledger_by_turn ON ledger (state, priority, collection_id, host, due, id);
CREATE INDEX IF NOT EXISTS ledger_by_cause ON ledger (cause, due) WHERE cause IS NOT NULL;
CREATE INDEX IF NOT EXISTS ledger_by_extracted ON ledger (extracted_ref) WHERE extracted_ref IS NOT NULL;

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

CREATE TABLE IF NOT EXISTS questions (
    id INTEGER PRIMARY KEY,
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    question TEXT NOT NULL,
    record TEXT NOT NULL,               -- JSON
    first_asked_at REAL NOT NULL,
    last_asked_at REAL NOT NULL,
    UNIQUE (collection_id, question)
);

-- Candidates that were acquired and may be ingested later; their collection need not exist.
CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    collection TEXT NOT NULL,
    created_at REAL NOT NULL,
    facts TEXT NOT NULL                 -- JSON
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_by_tenant ON sessions (tenant_id, collection);

CREATE TABLE IF NOT EXISTS session_candidates (
    session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
    position INTEGER NOT NULL,
    candidate TEXT NOT NULL,            -- JSON
    url_key TEXT GENERATED ALWAYS AS (json_extract(candidate, '$.url_key')) STORED,
    content_ref TEXT GENERATED ALWAYS AS (json_extract(candidate, '$.content_ref')) STORED,
    PRIMARY KEY (session_id, position)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS session_candidates_by_content ON session_candidates (content_ref);

-- Reviews that runs have asked for; their collection need not exist.
CREATE TABLE IF NOT EXISTS gates (
    id INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    gate_id TEXT NOT NULL,
    collection TEXT NOT NULL,
    host TEXT NOT NULL,
    thread_id TEXT,
    state TEXT NOT NULL CHECK (state IN ('open', 'decided', 'closed')),
    policy TEXT NOT NULL,
    deadline REAL NOT NULL,
    opened_at REAL NOT NULL,
    changed_at REAL NOT NULL,           -- when it was opened, decided or closed
    facts TEXT NOT NULL,                -- JSON
    decision TEXT,                      -- JSON
    UNIQUE (tenant_id, gate_id)
);
CREATE INDEX IF NOT EXISTS gates_by_state ON gates (state, deadline);

-- Staged texts of a gate's candidates.
CREATE TABLE IF NOT EXISTS gate_contents (
    gate INTEGER NOT NULL REFERENCES gates ON DELETE CASCADE,
    position INTEGER NOT NULL,
    content_ref TEXT NOT NULL,
    PRIMARY KEY (gate, position)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS gate_contents_by_content ON gate_contents (content_ref);

-- Further addresses of a document: other ways to it, and equal texts that are stored once.
CREATE TABLE IF NOT EXISTS addresses (
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    url_key TEXT NOT NULL,              -- of this address
    url TEXT NOT NULL,
    document_key TEXT NOT NULL,         -- url_key of the document
    kind TEXT NOT NULL CHECK (kind IN ('redirect', 'canonical', 'equal_text')),
    noted_at REAL NOT NULL,
    PRIMARY KEY (collection_id, url_key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS addresses_by_document ON addresses (collection_id, document_key);
-- Nothing leads to a document that is deleted.
CREATE TRIGGER IF NOT EXISTS addresses_follow_documents AFTER DELETE ON documents BEGIN
    DELETE FROM addresses
    WHERE collection_id = old.collection_id AND document_key = old.url_key;
END;

-- Crawls that a refresh repeats to find new pages.
CREATE TABLE IF NOT EXISTS crawls (
    id INTEGER PRIMARY KEY,
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    starts TEXT NOT NULL,               -- JSON: start addresses
    rules TEXT NOT NULL,                -- JSON: depth, bounds, patterns to include and exclude
    first_run_at REAL NOT NULL,
    last_run_at REAL NOT NULL,
    UNIQUE (collection_id, starts)
);

-- The order in which the hosts of a collection take turns.
CREATE TABLE IF NOT EXISTS host_turns (
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    host TEXT NOT NULL,
    PRIMARY KEY (collection_id, host)
) WITHOUT ROWID;

-- Work that waits for one cause, such as a site or an embedder that cannot be reached.
CREATE TABLE IF NOT EXISTS pauses (
    cause TEXT PRIMARY KEY,
    reason TEXT NOT NULL,
    since REAL NOT NULL,
    until REAL NOT NULL,                -- when one row is tried again
    probe INTEGER                       -- ledger.id of the row that is being tried
) WITHOUT ROWID;

-- Runs that were ranked by two profiles; their collection need not exist.
CREATE TABLE IF NOT EXISTS comparisons (
    id INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    collection TEXT NOT NULL,
    compared_at REAL NOT NULL,
    facts TEXT NOT NULL                 -- JSON
);
CREATE INDEX IF NOT EXISTS comparisons_by_collection ON comparisons (tenant_id, collection);

-- New vectors, prepared beside those in use.
CREATE TABLE IF NOT EXISTS prepared_vectors (
    id INTEGER PRIMARY KEY,
    chunk_id INTEGER NOT NULL REFERENCES chunks ON DELETE CASCADE,
    embedder TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (chunk_id, embedder)
);
