/** Rows that a session keeps locked, like a process that was stopped in the middle of a transaction. */
import pg from 'pg';

export interface LockedRows {
  /** A second call does nothing. */
  release(): Promise<void>;
}

/** @param locking a statement that locks them. */
export async function lockRows(url: string, locking: string, ...values: readonly unknown[]): Promise<LockedRows> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN');
  await client.query(locking, [...values]);
  let released: Promise<void> | undefined;
  return {
    release() {
      released ??= client.end();
      return released;
    },
  };
}
