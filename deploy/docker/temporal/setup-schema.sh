#!/bin/sh
# Makes Temporal's two databases and brings their schema to that of this tool's version, which is the server's. Run
# again, after an upgrade of the images for example, it only adds what is new. The tool reads its address and password
# from SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD.
set -eu

set_up() {
  database="$1"
  schema="$2"
  # Succeeds where the database is there already.
  temporal-sql-tool --database "$database" create-database
  # The tables that record the version; unchanged if they exist already.
  temporal-sql-tool --database "$database" setup-schema --version 0.0
  temporal-sql-tool --database "$database" update-schema --schema-name "$schema"
}

set_up temporal postgresql/v12/temporal
set_up temporal_visibility postgresql/v12/visibility
