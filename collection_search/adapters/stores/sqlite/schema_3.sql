-- From version 2: only the word index is built anew, since its tokenizer changes.

ALTER TABLE collections ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
ALTER TABLE collections ADD COLUMN deleted_at REAL;
CREATE INDEX documents_by_text ON documents (collection_id, content_hash);

ALTER TABLE chunks ADD COLUMN headings TEXT;
ALTER TABLE chunks ADD COLUMN page INTEGER;
ALTER TABLE chunks ADD COLUMN table_header TEXT;

-- The stems of most texts are the same as before: `stems_of` makes the others anew.
CREATE VIRTUAL TABLE chunk_words_3 USING fts5 (
    part, title, body,
    tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mc Mn'"
);
INSERT INTO chunk_words_3 (rowid, part, title, body)
SELECT chunk_words.rowid, part, stems_of(documents.title, chunk_words.title),
    stems_of(chunks.text, body)
FROM chunk_words JOIN chunks ON chunks.id = chunk_words.rowid
JOIN documents ON documents.id = document_id
ORDER BY chunk_words.rowid;
DROP TRIGGER chunk_words_follow_chunks;
DROP TABLE chunk_words;
ALTER TABLE chunk_words_3 RENAME TO chunk_words;
CREATE TRIGGER chunk_words_follow_chunks AFTER DELETE ON chunks BEGIN
    DELETE FROM chunk_words WHERE rowid = old.id;
END;

ALTER TABLE ledger ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN cause TEXT;
ALTER TABLE ledger ADD COLUMN policy TEXT;
ALTER TABLE ledger ADD COLUMN extracted_ref TEXT;
ALTER TABLE ledger ADD COLUMN extracted TEXT;
CREATE INDEX ledger_by_turn ON ledger (state, priority, collection_id, host, due, id);
CREATE INDEX ledger_by_cause ON ledger (cause, due) WHERE cause IS NOT NULL;
CREATE INDEX ledger_by_extracted ON ledger (extracted_ref) WHERE extracted_ref IS NOT NULL;

ALTER TABLE tickets ADD COLUMN policy TEXT;

-- Reviews that runs have asked for; their collection need not exist.
CREATE TABLE gates (
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
CREATE INDEX gates_by_state ON gates (state, deadline);

-- Staged texts of a gate's candidates.
CREATE TABLE gate_contents (
    gate INTEGER NOT NULL REFERENCES gates ON DELETE CASCADE,
    position INTEGER NOT NULL,
    content_ref TEXT NOT NULL,
    PRIMARY KEY (gate, position)
) WITHOUT ROWID;
CREATE INDEX gate_contents_by_content ON gate_contents (content_ref);

-- Further addresses of a document: other ways to it, and equal texts that are stored once.
CREATE TABLE addresses (
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    url_key TEXT NOT NULL,              -- of this address
    url TEXT NOT NULL,
    document_key TEXT NOT NULL,         -- url_key of the document
    kind TEXT NOT NULL CHECK (kind IN ('redirect', 'canonical', 'equal_text')),
    noted_at REAL NOT NULL,
    PRIMARY KEY (collection_id, url_key)
) WITHOUT ROWID;
CREATE INDEX addresses_by_document ON addresses (collection_id, document_key);

-- Crawls that a refresh repeats to find new pages.
CREATE TABLE crawls (
    id INTEGER PRIMARY KEY,
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    starts TEXT NOT NULL,               -- JSON: start addresses
    rules TEXT NOT NULL,                -- JSON: depth, bounds, patterns to include and exclude
    first_run_at REAL NOT NULL,
    last_run_at REAL NOT NULL,
    UNIQUE (collection_id, starts)
);

-- The order in which the hosts of a collection take turns.
CREATE TABLE host_turns (
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    host TEXT NOT NULL,
    turn INTEGER NOT NULL,
    PRIMARY KEY (collection_id, host)
) WITHOUT ROWID;

-- Work that waits for one cause, such as a site or an embedder that cannot be reached.
CREATE TABLE pauses (
    cause TEXT PRIMARY KEY,
    reason TEXT NOT NULL,
    since REAL NOT NULL,
    until REAL NOT NULL,                -- when one row is tried again
    probe INTEGER                       -- ledger.id of the row that is being tried
) WITHOUT ROWID;
