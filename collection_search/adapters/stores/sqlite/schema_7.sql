-- From version 6: prepared vectors; files of late programs have them already.

-- New vectors, prepared beside those in use.
CREATE TABLE IF NOT EXISTS prepared_vectors (
    id INTEGER PRIMARY KEY,
    chunk_id INTEGER NOT NULL REFERENCES chunks ON DELETE CASCADE,
    embedder TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (chunk_id, embedder)
);
