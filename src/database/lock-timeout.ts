/**
 * A bound on how long a row is waited for. Apart from the pool's own time-outs because only those want it who can come
 * back later: whoever has a caller to answer waits as long as a statement may take.
 */
import type { Database, Queryable, Statement } from './database.ts';

const setLockTimeout: Statement = {
  name: 'set_lock_timeout',
  text: `SELECT set_config('lock_timeout', $1, true)`,
};

/**
 * The same database, where a row that stays locked fails the statement that waits for it with `LockTimeoutError`. Each
 * statement by itself is a transaction: the bound ends with it, and the connection is as before.
 *
 * @param timeoutMs for each row.
 */
export function withLockTimeout(database: Database, timeoutMs: number): Database {
  const transaction: Database['transaction'] = (work) =>
    database.transaction(async (inner: Queryable) => {
      await inner.query(setLockTimeout, [`${timeoutMs}ms`]);
      return work(inner);
    });
  return {
    ...database,
    transaction,
    query: (statement, values) => transaction((inner) => inner.query(statement, values)),
  };
}
