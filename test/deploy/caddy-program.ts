/** Caddy, the proxy of docker-compose.yml, built from its Go module once, and the configurations that we give for it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { obtainGoPrograms, whyNoGoPrograms } from './go-programs.ts';
import type { GoPrograms } from './go-programs.ts';
import { packageFile } from '../../src/config/package-root.ts';

const VERSION = '2.11.9';

export const CADDY: GoPrograms = {
  directory: `caddy-${VERSION}`,
  version: `v${VERSION}`,
  packages: { caddy: 'github.com/caddyserver/caddy/v2/cmd/caddy' },
};

/** Why it is not available here, for the `skip` of a test; false if it is. */
export function whyNoCaddy(): string | false {
  return whyNoGoPrograms(CADDY);
}

export async function obtainCaddy(): Promise<string> {
  return path.join(await obtainGoPrograms(CADDY), 'caddy');
}

/** Runs it with one of the sites below. @returns ends it. */
export async function startCaddy(site: string): Promise<() => Promise<void>> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-caddy-'));
  const file = path.join(directory, 'Caddyfile');
  await writeFile(file, `{\n\tadmin off\n}\n\n${site}`);
  const caddy = spawn(await obtainCaddy(), ['run', '--config', file, '--adapter', 'caddyfile'], {
    env: { PATH: process.env['PATH'], HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory },
    stdio: 'ignore',
  });
  return async () => {
    if (caddy.exitCode === null && caddy.signalCode === null) {
      caddy.kill();
      await once(caddy, 'exit');
    }
    await rm(directory, { recursive: true, force: true });
  };
}

/**
 * The site of docs/operations/scale.md.
 *
 * @param site where it listens. @param apis their addresses with ports.
 */
export function documentedCaddyfile(site: string, apis: readonly string[]): string {
  const page = readFileSync(packageFile('docs/operations/scale.md'), 'utf8');
  const [, block = ''] = /```\n(api\.example\.com \{\n[^]*?)```/.exec(page) ?? [];
  return block.replace('api.example.com', site).replace('10.0.0.1:8787 10.0.0.2:8787', apis.join(' '));
}

/** The site of the API of deploy/docker/caddy/Caddyfile, without that of Temporal's Web UI. */
export function shippedCaddyfile(site: string, apis: readonly string[]): string {
  const file = readFileSync(packageFile('deploy/docker/caddy/Caddyfile'), 'utf8');
  const [, block = ''] = /\n(\{\$SITE_ADDRESS\} \{\n[^]*?\n\}\n)/.exec(file) ?? [];
  return block.replace('{$SITE_ADDRESS}', site).replace('{$UPSTREAM}', apis.join(' '));
}
