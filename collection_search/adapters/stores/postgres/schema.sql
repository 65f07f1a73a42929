-- Staged texts, the ledger with its tickets, and the collections. JSON is stored as text.

CREATE TABLE staged (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id text NOT NULL,
    content_ref text NOT NULL,
    text text NOT NULL,
    staged_at double precision NOT NULL,
    UNIQUE (tenant_id, content_ref)
);
CREATE INDEX staged_by_age ON staged (staged_at);

CREATE TABLE collections (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id text NOT NULL,
    name text NOT NULL,
    embedder text,                      -- fingerprint; NULL: searched by its words alone
    changes bigint NOT NULL DEFAULT 0,  -- raised by every write to the content
    turn bigint NOT NULL DEFAULT 0,     -- when it was served last, for taking turns
    deleted_at double precision,        -- always NULL: a deletion is one transaction
    UNIQUE (tenant_id, name)
);

CREATE TABLE documents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection_id bigint NOT NULL REFERENCES collections ON DELETE CASCADE,
    url_key text NOT NULL,
    url text NOT NULL,
    title text NOT NULL,
    content_hash text NOT NULL,
    provenance text NOT NULL,           -- JSON
    stored_at double precision NOT NULL, -- or last found unchanged
    host text GENERATED ALWAYS AS (host_of(url)) STORED,
    provider text GENERATED ALWAYS AS (json_extract(provenance, '$.provider')) STORED,
    source text GENERATED ALWAYS AS (json_extract(provenance, '$.source')) STORED,
    published text GENERATED ALWAYS AS (
        substring(json_extract(provenance, '$.published_date') FROM '^\d{4}-\d\d-\d\d')) STORED,
    is_pdf boolean GENERATED ALWAYS AS (
        coalesce(json_extract(provenance, '$.is_pdf'), '') IN ('true', '1')
        OR coalesce(json_extract(provenance, '$.page_kind'), '') = 'pdf'
        OR lower(url) LIKE '%.pdf') STORED,
    revision bigint NOT NULL DEFAULT 0, -- collections.changes when its chunks were written
    UNIQUE (collection_id, url_key)
);
-- Documents with equal text.
CREATE INDEX documents_by_text ON documents (collection_id, content_hash);
CREATE INDEX documents_by_host ON documents (collection_id, host);

CREATE TABLE chunks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    part bigint NOT NULL,               -- the collection of its document, for the search
    document_id bigint NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal integer NOT NULL,
    start integer NOT NULL,
    "end" integer NOT NULL,
    vector bytea,                       -- float32, little-endian, unit length
    near halfvec,                       -- the same for the search, in half the space
    text text NOT NULL,
    headings text,                      -- JSON: those above it, outermost first; NULL: none
    page integer,                       -- the first one of a PDF, from 1
    table_header text,                  -- of the table that the chunk continues
    words tsvector NOT NULL,            -- stems: those of the title have weight A
    length integer NOT NULL,            -- number of its stems
    UNIQUE (document_id, ordinal)
);
CREATE INDEX chunks_by_part ON chunks (part) INCLUDE (length);
CREATE INDEX chunks_by_words ON chunks USING gin (words);

CREATE TABLE prepared_vectors (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chunk_id bigint NOT NULL REFERENCES chunks ON DELETE CASCADE,
    embedder text NOT NULL,
    vector bytea NOT NULL,
    UNIQUE (chunk_id, embedder)
);

CREATE TABLE ledger (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection_id bigint NOT NULL REFERENCES collections ON DELETE CASCADE,
    url_key text NOT NULL,
    url text NOT NULL,
    title text NOT NULL,
    content_ref text,                   -- the text that a provider delivered
    provenance text NOT NULL,           -- JSON
    state text NOT NULL CHECK (
        state IN ('waiting', 'to_fetch', 'working', 'stored', 'dead', 'retired')),
    due double precision NOT NULL DEFAULT 0, -- idle, retired: not before; working: end of the lease
    owner text,                         -- of a working row
    attempts integer NOT NULL DEFAULT 0,
    fence bigint NOT NULL DEFAULT 0,    -- raised whenever the row changes hands
    error text,                         -- of the last attempt
    refresh boolean NOT NULL DEFAULT FALSE, -- to be fetched although something is stored
    postponed integer NOT NULL DEFAULT 0,
    fetched text,                       -- JSON: the page that is stored, as it was fetched
    change text,                        -- what the last work on the page made of it
    changed_at double precision NOT NULL DEFAULT 0, -- when it was stored, buried or retired
    host text GENERATED ALWAYS AS (host_of(url)) STORED,
    priority integer NOT NULL DEFAULT 0, -- lower is taken first: 0 asked for, more: refreshes
    cause text,                         -- of a postponement: what its pause in `pauses` is called
    policy text,                        -- JSON: what a fetch of this row may do; NULL: the settings
    extracted_ref text,                 -- the staged text of a fetch whose embedding failed
    extracted text,                     -- JSON: title and facts of that fetch
    UNIQUE (collection_id, url_key)
);
CREATE INDEX ledger_by_due ON ledger (state, due);
CREATE INDEX ledger_by_content ON ledger (content_ref);
CREATE INDEX ledger_by_turn ON ledger (state, priority, collection_id, host, due, id);
CREATE INDEX ledger_by_cause ON ledger (cause, due) WHERE cause IS NOT NULL;
CREATE INDEX ledger_by_extracted ON ledger (extracted_ref) WHERE extracted_ref IS NOT NULL;

CREATE TABLE tickets (
    id text PRIMARY KEY,
    collection_id bigint NOT NULL REFERENCES collections ON DELETE CASCADE
);
CREATE INDEX tickets_by_collection ON tickets (collection_id);

CREATE TABLE ticket_rows (
    ticket_id text NOT NULL REFERENCES tickets ON DELETE CASCADE,
    row_id bigint NOT NULL REFERENCES ledger ON DELETE CASCADE,
    position integer NOT NULL,
    PRIMARY KEY (ticket_id, row_id)
);
CREATE INDEX ticket_rows_by_row ON ticket_rows (row_id);

CREATE TABLE questions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection_id bigint NOT NULL REFERENCES collections ON DELETE CASCADE,
    question text NOT NULL,
    record text NOT NULL,               -- JSON
    first_asked_at double precision NOT NULL,
    last_asked_at double precision NOT NULL,
    UNIQUE (collection_id, question)
);

-- Candidates that were acquired and may be ingested later; their collection need not exist.
CREATE TABLE sessions (
    id text PRIMARY KEY,
    tenant_id text NOT NULL,
    collection text NOT NULL,
    created_at double precision NOT NULL,
    facts text NOT NULL                 -- JSON
);
CREATE INDEX sessions_by_tenant ON sessions (tenant_id, collection);

CREATE TABLE session_candidates (
    session_id text NOT NULL REFERENCES sessions ON DELETE CASCADE,
    position integer NOT NULL,
    candidate text NOT NULL,            -- JSON
    url_key text GENERATED ALWAYS AS (json_extract(candidate, '$.url_key')) STORED,
    content_ref text GENERATED ALWAYS AS (json_extract(candidate, '$.content_ref')) STORED,
    PRIMARY KEY (session_id, position)
);
CREATE INDEX session_candidates_by_content ON session_candidates (content_ref);

-- Reviews that runs have asked for; their collection need not exist.
CREATE TABLE gates (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id text NOT NULL,
    gate_id text NOT NULL,
    collection text NOT NULL,
    host text NOT NULL,
    thread_id text,
    state text NOT NULL CHECK (state IN ('open', 'decided', 'closed')),
    policy text NOT NULL,
    deadline double precision NOT NULL,
    opened_at double precision NOT NULL,
    changed_at double precision NOT NULL, -- when it was opened, decided or closed
    facts text NOT NULL,                -- JSON
    decision text,                      -- JSON
    UNIQUE (tenant_id, gate_id)
);
CREATE INDEX gates_by_state ON gates (state, deadline);

-- Staged texts of a gate's candidates.
CREATE TABLE gate_contents (
    gate bigint NOT NULL REFERENCES gates ON DELETE CASCADE,
    position integer NOT NULL,
    content_ref text NOT NULL,
    PRIMARY KEY (gate, position)
);
CREATE INDEX gate_contents_by_content ON gate_contents (content_ref);

-- Further addresses of a document: other ways to it, and equal texts that are stored once.
CREATE TABLE addresses (
    collection_id bigint NOT NULL REFERENCES collections ON DELETE CASCADE,
    url_key text NOT NULL,              -- of this address
    url text NOT NULL,
    document_key text NOT NULL,         -- url_key of the document
    kind text NOT NULL CHECK (kind IN ('redirect', 'canonical', 'equal_text')),
    noted_at double precision NOT NULL,
    PRIMARY KEY (collection_id, url_key)
);
CREATE INDEX addresses_by_document ON addresses (collection_id, document_key);

-- Nothing leads to a document that is deleted.
CREATE FUNCTION drop_addresses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM addresses
    WHERE collection_id = old.collection_id AND document_key = old.url_key;
    RETURN NULL;
END $$;
CREATE TRIGGER addresses_follow_documents AFTER DELETE ON documents
    FOR EACH ROW EXECUTE FUNCTION drop_addresses();

-- Crawls that a refresh repeats to find new pages.
CREATE TABLE crawls (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection_id bigint NOT NULL REFERENCES collections ON DELETE CASCADE,
    starts text NOT NULL,               -- JSON: start addresses
    rules text NOT NULL,                -- JSON: depth, bounds, patterns to include and exclude
    first_run_at double precision NOT NULL,
    last_run_at double precision NOT NULL,
    UNIQUE (collection_id, starts)
);

-- The order in which the hosts of a collection take turns.
CREATE TABLE host_turns (
    collection_id bigint NOT NULL REFERENCES collections ON DELETE CASCADE,
    host text NOT NULL,
    PRIMARY KEY (collection_id, host)
);

-- Work that waits for one cause, such as a site or an embedder that cannot be reached.
CREATE TABLE pauses (
    cause text PRIMARY KEY,
    reason text NOT NULL,
    since double precision NOT NULL,
    until double precision NOT NULL,    -- when one row is tried again
    probe bigint                        -- ledger.id of the row that is being tried
);

-- Runs that were ranked by two profiles; their collection need not exist.
CREATE TABLE comparisons (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id text NOT NULL,
    collection text NOT NULL,
    compared_at double precision NOT NULL,
    facts text NOT NULL                 -- JSON
);
CREATE INDEX comparisons_by_collection ON comparisons (tenant_id, collection);

CREATE TABLE quotas (
    provider text NOT NULL,
    key_id text NOT NULL,
    period text NOT NULL,               -- 2026-11 or 2026-11-21
    used bigint NOT NULL,               -- with open reservations
    PRIMARY KEY (provider, key_id, period)
);

CREATE TABLE answers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id text NOT NULL,
    kind text NOT NULL,
    key_hash bytea NOT NULL,            -- keys hold queries, which are private and long
    payload bytea NOT NULL,
    stored_at double precision NOT NULL,
    UNIQUE (tenant_id, kind, key_hash)
);
CREATE INDEX answers_by_age ON answers (stored_at, id);

CREATE TABLE spend (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id text NOT NULL,
    run_id text NOT NULL,
    at double precision NOT NULL,
    kind text NOT NULL CHECK (kind IN ('search', 'chat', 'embedding', 'crawl')),
    name text NOT NULL,
    requests integer NOT NULL,
    input_tokens integer NOT NULL,
    output_tokens integer NOT NULL,
    cost_usd text,                      -- a decimal number; NULL: not known
    cached integer NOT NULL
);
CREATE INDEX spend_by_time ON spend (tenant_id, at);
CREATE INDEX spend_by_run ON spend (tenant_id, run_id);

-- What runs were asked.
CREATE TABLE run_questions (
    tenant_id text NOT NULL,
    run_id text NOT NULL,
    question text NOT NULL,
    PRIMARY KEY (tenant_id, run_id)
);

-- The runs of the HTTP server and their events.
CREATE TABLE runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the order of their beginning
    run_id text NOT NULL UNIQUE,
    tenant_id text NOT NULL,
    collection text NOT NULL,
    status text NOT NULL
        CHECK (status IN ('running', 'waiting', 'done', 'failed', 'cancelled', 'interrupted')),
    owner text NOT NULL,                -- empty: nobody executes it or cleans up after it
    created_at double precision NOT NULL,
    ended_at double precision,
    outcome text,
    gate_id text,
    facts text NOT NULL,                -- JSON: what was asked, and by whom
    error text,                         -- JSON
    output text,                        -- JSON
    pages text,                         -- JSON
    last_event integer NOT NULL DEFAULT 0
);
CREATE INDEX runs_of_tenant ON runs (tenant_id, id);
CREATE INDEX runs_at_work ON runs (id) WHERE status = 'running' OR owner != '';

CREATE TABLE events (
    run bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    number integer NOT NULL,            -- from 1, without gaps
    type text NOT NULL,
    data text NOT NULL,                 -- JSON
    PRIMARY KEY (run, number)
);

-- Servers that are alive: the runs of one whose lease has run out are left to the others.
CREATE TABLE run_leases (
    owner text PRIMARY KEY,
    until double precision NOT NULL
);
