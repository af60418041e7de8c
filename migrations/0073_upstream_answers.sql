-- Up Migration

-- What is known about upstreams of tasks and of text alike (src/upstreams/states.ts): when one last answered, recorded at
-- most once a minute by each process, and what is wrong with its credential, until it accepts one again.
ALTER TABLE upstream_states ADD COLUMN answered_at timestamptz, ADD COLUMN credential_problem text;

-- What providers say about credentials (src/providers/credential-probes.ts). `fingerprint` is that of the credential and
-- of where it was sent: a result is one for exactly these. `claimed_until`: a process probes until then.
CREATE TABLE credential_probes (
  provider text NOT NULL,
  credential text NOT NULL,
  fingerprint bytea NOT NULL,
  state text NOT NULL CHECK (state IN ('unknown', 'valid', 'rejected')),
  checked_at timestamptz,
  claimed_until timestamptz,
  PRIMARY KEY (provider, credential)
);
