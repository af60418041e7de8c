-- Up Migration

-- The stream of a response in the background (src/text/background/event-log.ts): `frames` are the events from number
-- `first` up to, and not including, number `next`, each as it is sent. They are kept for an hour after the call's end.
CREATE TABLE background_events (
  call_id text NOT NULL,
  first integer NOT NULL,
  next integer NOT NULL,
  frames text[] NOT NULL,
  PRIMARY KEY (call_id, first)
);
