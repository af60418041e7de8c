/** An advisory lock for work that takes longer than a transaction may. It has a connection of its own. */
import type { DatabaseConfig } from '../config/connections.ts';
import { connectSession } from './pooler.ts';

export interface SessionLock {
  release(): Promise<void>;
}

/**
 * @param database the address of PostgreSQL itself.
 * @returns undefined: another process holds it.
 * @throws {PoolerError} there is a pooler, which would give the lock's session to others.
 */
export async function acquireSessionLock(
  { url }: Pick<DatabaseConfig, 'url'>,
  name: string,
): Promise<SessionLock | undefined> {
  const client = await connectSession(url, 'darkroom', `the lock "${name}"`);
  const { rows } = await client.query<{ isOurs: boolean }>(
    'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS "isOurs"',
    [name],
  );
  if (rows[0]?.isOurs === true) return { release: () => client.end() };
  await client.end();
  return undefined;
}
