/**
 * The bytes that an account keeps persistently, counted against its cap (contract §5). An output that is to become
 * persistent reserves its bytes first; one that ceases to be releases them, in the transaction that decides it.
 */
import type { Queryable, Statement } from '../../database/database.ts';

const reserve: Statement = {
  name: 'reserve_persistent_bytes',
  text: `UPDATE account_counters c SET persistent_bytes = c.persistent_bytes + $2
           FROM accounts a
          WHERE a.id = c.account_id AND c.account_id = $1 AND c.persistent_bytes + $2 <= a.storage_cap_bytes
      RETURNING c.account_id`,
};

/** Reserves room under the cap; the account's counters are locked until the commit. @returns whether there was. */
export async function reservePersistentBytes(
  transaction: Queryable,
  accountId: string,
  sizeBytes: number,
): Promise<boolean> {
  const rows = await transaction.query(reserve, [accountId, sizeBytes]);
  return rows.length === 1;
}
