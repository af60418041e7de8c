/**
 * Caddy on a host of its own, in front of the apis: it sends requests to those that are ready. What ends TLS is in front
 * of it, as a load balancer of a cloud is.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { documentedCaddyfile, obtainCaddy } from '../deploy/caddy-program.ts';
import { untilSuccess } from './service.ts';
import type { Service } from './service.ts';

const PORT = 8080;
/** Longer than the proxy takes to see that an api is no longer ready. */
export const DRAIN_SECONDS = 5;

export interface ProxyService extends Service {
  readonly url: string;
}

/** @param apis their addresses with ports. @param client that sets `X-Forwarded-Proto`. @param directory is created. */
export async function provideProxy(
  address: string,
  apis: readonly string[],
  client: string,
  directory: string,
): Promise<ProxyService> {
  await mkdir(directory);
  const command = await obtainCaddy();
  const file = path.join(directory, 'Caddyfile');
  const url = `http://${address}:${PORT}`;
  const global = `{\n\tadmin off\n\tservers {\n\t\ttrusted_proxies static ${client}\n\t}\n}\n\n`;
  await writeFile(file, `${global}${documentedCaddyfile(url, apis)}`);
  return {
    url,
    launch: () => ({
      command,
      args: ['run', '--config', file, '--adapter', 'caddyfile'],
      environment: { PATH: process.env['PATH'], HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory },
    }),
    // Whatever it answers, it listens.
    ready: (signal) => untilSuccess(() => fetch(`${url}/healthz`, { signal }), signal),
  };
}
