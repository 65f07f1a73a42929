#!/bin/sh
# Writes random passwords, and the files that contain them, into the folder deploy/secrets.
# A file that is there already is left as it is.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p "${SECRETS:=secrets}"

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

# The folder is closed to others; a container's own user must be able to read its file.
keep() {
    if [ ! -e "$SECRETS/$1" ]; then
        cat >"$SECRETS/$1"
        chmod 444 "$SECRETS/$1"
    fi
}

for name in postgres_password database_password aegra_password broker_password redis_password; do
    random | keep "$name"
done
: | keep prometheus_token && chmod 644 "$SECRETS/prometheus_token"   # filled in later

keep collection-search.yaml <<END
database_url: postgresql://collection_search:$(cat "$SECRETS/database_password")@postgres:5432/collection_search
broker_url: amqp://collection_search:$(cat "$SECRETS/broker_password")@rabbitmq:5672/%2F
END
keep broker.conf <<END
default_user = collection_search
default_pass = $(cat "$SECRETS/broker_password")
default_vhost = /
END
keep redis.conf <<END
requirepass $(cat "$SECRETS/redis_password")
dir /data
appendonly yes
END
keep aegra.env <<END
DATABASE_URL=postgresql://aegra:$(cat "$SECRETS/aegra_password")@postgres:5432/aegra
REDIS_URL=redis://:$(cat "$SECRETS/redis_password")@redis:6379/0
END
keep searxng.yml <<END
use_default_settings: true
server:
  secret_key: $(random)
  limiter: false
  public_instance: false
search:
  formats: [html, json]
END
echo "The secrets are in $(cd "$SECRETS" && pwd). Keep a copy apart from that of the database."
