#!/bin/sh
# Makes Temporal's two databases and brings their schema to that of the server's version. Run again after an upgrade of
# the images, it only adds what is new. The tool reads SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD.
set -eu

# The schema that the admin-tools image of this version brings along.
schema="${TEMPORAL_SCHEMA_DIR:-/etc/temporal/schema/postgresql/v12}"

set_up() {
  database="$1"
  folder="$2"
  # Succeeds where the database is there already.
  temporal-sql-tool --database "$database" create-database
  # Versioning tables only; they are left alone where they are there already.
  temporal-sql-tool --database "$database" setup-schema --version 0.0
  temporal-sql-tool --database "$database" update-schema --schema-dir "$schema/$folder/versioned"
}

set_up temporal temporal
set_up temporal_visibility visibility
