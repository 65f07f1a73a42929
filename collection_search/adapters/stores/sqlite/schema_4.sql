-- From version 3: keys no longer ignore scheme, `www.`, final slash and index page.

-- The new key of each page, made from the URL of its document, else from that of its ledger row.
CREATE TABLE rekeyed (
    collection_id INTEGER NOT NULL,
    before TEXT NOT NULL,
    url TEXT NOT NULL,
    url_key TEXT NOT NULL,
    PRIMARY KEY (collection_id, before),
    UNIQUE (collection_id, url_key)
) WITHOUT ROWID;
INSERT OR IGNORE INTO rekeyed
SELECT collection_id, url_key, url, current_key(url, url_key) FROM documents
WHERE current_key(url, url_key) != url_key;
INSERT OR IGNORE INTO rekeyed
SELECT collection_id, url_key, url, current_key(url, url_key) FROM ledger
WHERE current_key(url, url_key) != url_key AND NOT EXISTS (
    SELECT 1 FROM documents WHERE documents.collection_id = ledger.collection_id
        AND documents.url_key = ledger.url_key);

-- A key that a caller chose himself is not taken from him: the page then keeps the key that it has.
WITH RECURSIVE kept (collection_id, before) AS (
    SELECT collection_id, before FROM rekeyed WHERE NOT EXISTS (
        SELECT 1 FROM rekeyed AS other WHERE other.collection_id = rekeyed.collection_id
            AND other.before = rekeyed.url_key
    ) AND (EXISTS (
        SELECT 1 FROM documents WHERE documents.collection_id = rekeyed.collection_id
            AND documents.url_key = rekeyed.url_key
    ) OR EXISTS (
        SELECT 1 FROM ledger WHERE ledger.collection_id = rekeyed.collection_id
            AND ledger.url_key = rekeyed.url_key
    ))
    UNION
    SELECT rekeyed.collection_id, rekeyed.before FROM rekeyed JOIN kept
        ON kept.collection_id = rekeyed.collection_id AND kept.before = rekeyed.url_key
)
DELETE FROM rekeyed WHERE (collection_id, before) IN (SELECT collection_id, before FROM kept);

-- In two steps, since the new key of one page may be the old key of another.
UPDATE documents SET url_key = char(1) || (
    SELECT url_key FROM rekeyed WHERE rekeyed.collection_id = documents.collection_id
        AND before = documents.url_key)
WHERE (collection_id, url_key) IN (SELECT collection_id, before FROM rekeyed);
UPDATE documents SET url_key = substr(url_key, 2) WHERE url_key GLOB char(1) || '*';
UPDATE ledger SET (url_key, url) = (
    SELECT char(1) || url_key, url FROM rekeyed
    WHERE rekeyed.collection_id = ledger.collection_id AND before = ledger.url_key)
WHERE (collection_id, url_key) IN (SELECT collection_id, before FROM rekeyed);
UPDATE ledger SET url_key = substr(url_key, 2) WHERE url_key GLOB char(1) || '*';

UPDATE questions SET record = json_set(record, '$.url_keys', (
    SELECT json_group_array(key) FROM (
        SELECT coalesce(rekeyed.url_key, pages.value) AS key
        FROM json_each(questions.record, '$.url_keys') AS pages
        LEFT JOIN rekeyed ON rekeyed.collection_id = questions.collection_id
            AND rekeyed.before = pages.value
        ORDER BY pages.key)))
WHERE json_array_length(record, '$.url_keys') > 0;
DROP TABLE rekeyed;

UPDATE session_candidates SET candidate = json_set(candidate, '$.url_key',
    current_key(json_extract(candidate, '$.url'), url_key))
WHERE current_key(json_extract(candidate, '$.url'), url_key) != url_key;

-- Nothing leads to a document that is deleted.
CREATE TRIGGER addresses_follow_documents AFTER DELETE ON documents BEGIN
    DELETE FROM addresses
    WHERE collection_id = old.collection_id AND document_key = old.url_key;
END;

-- Columns that nothing reads are dropped.
CREATE TABLE tickets_4 (
    id TEXT PRIMARY KEY,
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE
) WITHOUT ROWID;
INSERT INTO tickets_4 SELECT id, collection_id FROM tickets;
DROP TABLE tickets;
ALTER TABLE tickets_4 RENAME TO tickets;
CREATE INDEX tickets_by_collection ON tickets (collection_id);
CREATE TABLE host_turns_4 (
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    host TEXT NOT NULL,
    PRIMARY KEY (collection_id, host)
) WITHOUT ROWID;
INSERT INTO host_turns_4 SELECT collection_id, host FROM host_turns;
DROP TABLE host_turns;
ALTER TABLE host_turns_4 RENAME TO host_turns;
