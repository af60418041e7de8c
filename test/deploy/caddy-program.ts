/** Caddy, the proxy of docker-compose.yml, built from its Go module once. */
import path from 'node:path';
import { obtainGoPrograms, whyNoGoPrograms } from './go-programs.ts';
import type { GoPrograms } from './go-programs.ts';

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
