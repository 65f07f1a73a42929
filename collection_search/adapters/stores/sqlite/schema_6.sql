-- From version 5: documents know at which change their chunks were written.

ALTER TABLE documents ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
CREATE INDEX documents_by_revision ON documents (collection_id, revision);
