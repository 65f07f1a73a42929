-- From version 1: what runs were asked; files of late programs have it already.

CREATE TABLE IF NOT EXISTS run_questions (
    tenant_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    question TEXT NOT NULL,
    PRIMARY KEY (tenant_id, run_id)
) WITHOUT ROWID;
