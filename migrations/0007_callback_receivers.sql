-- Up Migration

-- Receivers that do not take callbacks (src/accounts/callback-receivers.ts): a row exists from the first delivery that is
-- given up until one arrives, so that healthy receivers cost nothing.
CREATE TABLE callback_receivers (
  account_id text NOT NULL,
  -- Scheme, host and port of the callback's address.
  origin text NOT NULL,
  failing_since timestamptz NOT NULL,
  last_failed_at timestamptz NOT NULL,
  -- Of the last attempt; one of the two.
  last_http_status integer,
  last_error_class text CHECK (last_error_class IN ('tls', 'timeout', 'unreachable')),
  -- Deliveries given up since then.
  given_up integer NOT NULL DEFAULT 1,
  PRIMARY KEY (account_id, origin)
);
