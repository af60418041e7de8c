/** What an operator does to Temporal's databases: a copy of them at a moment, and what is put in their place later. */
import { queryOnce } from '../support/standby.ts';

const DATABASES = ['temporal', 'temporal_visibility'] as const;

/** Copies them as they are now; Temporal loses its connections for a moment. @param server the URL of its PostgreSQL. */
export async function saveHistory(server: string): Promise<void> {
  for (const name of DATABASES) {
    await queryOnce(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    try {
      await queryOnce(server, `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${name}'`);
      await queryOnce(server, `CREATE DATABASE ${name}_saved TEMPLATE ${name}`);
    } finally {
      await queryOnce(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    }
  }
}

/** Puts the copy in their place. The services of Temporal do not run. */
export async function restoreHistory(server: string): Promise<void> {
  await deleteHistory(server);
  for (const name of DATABASES) {
    await queryOnce(server, `ALTER DATABASE ${name}_saved RENAME TO ${name}`);
    await queryOnce(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
  }
}

/** The services of Temporal do not run. */
export async function deleteHistory(server: string): Promise<void> {
  for (const name of DATABASES) await queryOnce(server, `DROP DATABASE ${name} WITH (FORCE)`);
}
