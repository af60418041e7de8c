/** An advisory lock for work that takes longer than a transaction may. It has a connection of its own. */
import pg from 'pg';
import type { DatabaseConfig } from '../config/config.ts';

export interface SessionLock {
  release(): Promise<void>;
}

/** @returns undefined: another process holds it. */
export async function acquireSessionLock(
  { url }: Pick<DatabaseConfig, 'url'>,
  name: string,
): Promise<SessionLock | undefined> {
  const client = new pg.Client({ connectionString: url, keepAlive: true, application_name: 'darkroom' });
  // Without a listener a lost connection, and with it a lost lock, would end the process in the middle of its work.
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query<{ isOurs: boolean }>(
    'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS "isOurs"',
    [name],
  );
  if (rows[0]?.isOurs === true) return { release: () => client.end() };
  await client.end();
  return undefined;
}
