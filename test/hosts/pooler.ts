/** PgBouncer on a host of its own, between the roles and PostgreSQL (docs/operations/scale.md). */
import { chmod, mkdir } from 'node:fs/promises';
import { preparePgBouncer } from '../support/pgbouncer.ts';
import { queryOnce } from '../support/standby.ts';
import { untilSuccess } from './service.ts';
import type { Service } from './service.ts';

const PORT = 6432;

export interface PoolerService extends Service {
  /** The variables of the processes that use it. @param url of a database on PostgreSQL itself. */
  environment(url: string): Readonly<Record<string, string>>;
}

/** @param server the URL of PostgreSQL. @param directory is created. */
export async function providePooler(server: string, address: string, directory: string): Promise<PoolerService> {
  await mkdir(directory);
  await chmod(directory, 0o711);
  const launch = await preparePgBouncer({
    server,
    directory,
    address,
    port: PORT,
    settings: { default_pool_size: 20 },
  });
  const through = (url: string, changes: { readonly pathname?: string } = {}): string =>
    Object.assign(new URL(url), { hostname: address, port: String(PORT), ...changes }).href;
  return {
    launch: () => launch,
    ready: (signal) =>
      untilSuccess(() => queryOnce(through(server, { pathname: '/pgbouncer' }), 'SHOW VERSION'), signal),
    environment: (url) => ({
      DATABASE_URL: through(url),
      DATABASE_DIRECT_URL: url,
      DATABASE_POOLER: 'transaction',
    }),
  };
}
