#!/bin/sh
# Runs once, when the volume is new: a user and a database for Darkroom, and a user for Temporal, which makes its own
# two. Neither is a superuser, so that a leaked password of one opens nothing of the other.
set -eu

# Read by psql from its environment rather than given on the command line, where other processes could see them.
: "${DARKROOM_DB_PASSWORD:?is not set}" "${TEMPORAL_DB_PASSWORD:?is not set}"

psql --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<'SQL'
\getenv darkroom_password DARKROOM_DB_PASSWORD
\getenv temporal_password TEMPORAL_DB_PASSWORD
CREATE ROLE darkroom LOGIN PASSWORD :'darkroom_password';
CREATE DATABASE darkroom OWNER darkroom;
REVOKE CONNECT ON DATABASE darkroom FROM PUBLIC;
CREATE ROLE temporal LOGIN CREATEDB PASSWORD :'temporal_password';
SQL
