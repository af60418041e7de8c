/** The entry points of the images that are built here, as far as our container files rely on those of the real ones. */

/**
 * Creates the cluster, with a password for every address, and runs the scripts in `/docker-entrypoint-initdb.d` while
 * no client can connect.
 */
export const POSTGRES_ENTRYPOINT = `#!/bin/sh
set -eu
export POSTGRES_USER="\${POSTGRES_USER:-postgres}"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  : "\${POSTGRES_PASSWORD:?is not set}"
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  umask 077
  printf '%s\\n' "$POSTGRES_PASSWORD" > /tmp/password
  initdb --pgdata="$PGDATA" --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust \\
    --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  printf '%s\\n' "listen_addresses = '*'" "unix_socket_directories = '/var/run/postgresql'" >> "$PGDATA/postgresql.conf"
  pg_ctl --pgdata="$PGDATA" --wait --options="-c listen_addresses=''" start
  for script in /docker-entrypoint-initdb.d/*.sh; do
    [ ! -e "$script" ] || PGHOST=/var/run/postgresql sh "$script"
  done
  pg_ctl --pgdata="$PGDATA" --wait --mode=fast stop
fi
exec "$@"
`;

/** Like the server's own: if it listens on all interfaces, it broadcasts its address to the others. */
export const TEMPORAL_ENTRYPOINT = `#!/bin/sh
set -eu
own=$(getent hosts "$(hostname)" | awk '{print $1; exit}')
: "\${BIND_ON_IP:=$own}"
if [ "$BIND_ON_IP" = 0.0.0.0 ]; then : "\${TEMPORAL_BROADCAST_ADDRESS:=$own}"; export TEMPORAL_BROADCAST_ADDRESS; fi
export BIND_ON_IP
exec temporal-server start
`;

export const UI_ENTRYPOINT = `#!/bin/sh
set -eu
exec ./ui-server --env docker start
`;
