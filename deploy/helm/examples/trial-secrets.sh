#!/bin/sh
# Makes the namespaces `darkroom` and `darkroom-backing` of a trial cluster, and in each its Secret, with new passwords
# and keys. A second run keeps what is there: the ENCRYPTION_KEY of an installation cannot be replaced by another.
set -eu

for namespace in darkroom darkroom-backing; do
  kubectl get namespace "$namespace" > /dev/null 2>&1 || kubectl create namespace "$namespace"
done
if kubectl -n darkroom get secret darkroom > /dev/null 2>&1 || kubectl -n darkroom-backing get secret backing > /dev/null 2>&1; then
  echo 'There are Secrets already: nothing was changed.'
  exit 0
fi

database=$(openssl rand -hex 24)
temporal=$(openssl rand -hex 24)
superuser=$(openssl rand -hex 24)
s3=$(openssl rand -hex 24)

# From standard input: arguments are visible to other processes.
kubectl -n darkroom-backing create secret generic backing --from-env-file=/dev/stdin <<ENV
POSTGRES_PASSWORD=$superuser
DARKROOM_DB_PASSWORD=$database
TEMPORAL_DB_PASSWORD=$temporal
S3_ACCESS_KEY_ID=darkroom
S3_SECRET_ACCESS_KEY=$s3
ENV
kubectl -n darkroom create secret generic darkroom --from-env-file=/dev/stdin <<ENV
DATABASE_URL=postgres://darkroom:$database@postgres.darkroom-backing.svc.cluster.local:5432/darkroom
URL_SIGNING_KEY=$(openssl rand -hex 32)
ENCRYPTION_KEY=$(openssl rand -hex 32)
ADMIN_TOKEN=$(openssl rand -hex 32)
S3_ACCESS_KEY_ID=darkroom
S3_SECRET_ACCESS_KEY=$s3
ENV
