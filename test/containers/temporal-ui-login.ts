/** A login for Temporal's Web UI, as an operator creates one: a password, and its hash by the proxy's own command. */
import { randomBytes } from 'node:crypto';
import type { Engine } from './engine.ts';

export interface TemporalUiLogin {
  /** For `.env`. */
  readonly variables: Readonly<Record<string, string>>;
  /** The value of an `Authorization` header. */
  readonly authorization: string;
}

export async function chooseTemporalUiLogin(engine: Engine, caddyImage: string): Promise<TemporalUiLogin> {
  const user = 'operator';
  const password = randomBytes(16).toString('hex');
  const hash = await engine.docker(
    ['run', '--rm', '--interactive', caddyImage, 'caddy', 'hash-password'],
    `${password}\n`,
  );
  return {
    variables: { TEMPORAL_UI: 'login', TEMPORAL_UI_USER: user, TEMPORAL_UI_PASSWORD_HASH: hash },
    authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
  };
}
