-- Up Migration

-- What an account has on hold is in its wallet until it is settled, so an account keeps its wallet for ever. After the
-- update, because a trigger before it would lock the row once more, for every hold and settlement.
CREATE FUNCTION refuse_other_wallet() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the wallet of account % cannot change', OLD.account_id;
END
$$;

CREATE TRIGGER account_counters_fixed_wallet AFTER UPDATE OF wallet_id ON account_counters
  FOR EACH ROW WHEN (OLD.wallet_id IS DISTINCT FROM NEW.wallet_id) EXECUTE FUNCTION refuse_other_wallet();
