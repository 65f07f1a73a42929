#!/bin/sh
# Makes the users of the server and of Aegra, each with a database of its own, in a new cluster.
# They are no superusers: row-level security does not hold for a superuser.
# The extension needs one, so it is made here.
set -eu

SECRETS=${SECRETS:-/run/secrets}

as_superuser() { psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username="${POSTGRES_USER:-postgres}" "$@"; }

# The password is read by psql itself: an argument could be seen in the list of processes.
add_user() {
    export PASSWORD_FILE="$SECRETS/$2"
    as_superuser --dbname=postgres --set=name="$1" <<'SQL'
\set password `cat "$PASSWORD_FILE"`
CREATE ROLE :"name" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS PASSWORD :'password';
CREATE DATABASE :"name" OWNER :"name";
REVOKE ALL ON DATABASE :"name" FROM PUBLIC;
SQL
    as_superuser --dbname="$1" --command='CREATE EXTENSION vector SCHEMA public'
}

add_user collection_search database_password
# It tells nothing of other rows, so the full-text index may be used behind row-level security.
as_superuser --dbname=collection_search \
    --command='ALTER FUNCTION pg_catalog.ts_match_vq(tsvector, tsquery) LEAKPROOF'
add_user aegra aegra_password
