/**
 * Settings that are acceptable on a developer's machine and rejected in production: if `NODE_ENV` is `production`, as
 * in our container images, or the api does not listen on loopback.
 */
import type { EnvironmentReader } from './environment.ts';
import { isLoopback } from './listeners.ts';

/** Placeholders for secrets in examples. */
const PLACEHOLDER =
  /change.?me|example|placeholder|replace.?(me|this)|insecure|development|do.?not.?use|0123456789|abcdefgh/i;
/** 32 random hexadecimal digits have fewer distinct ones about once in 60,000. */
const LEAST_DIFFERENT_CHARACTERS = 8;
const KNOWN_PASSWORDS: ReadonlySet<string> = new Set(['postgres', 'password', 'secret', 'darkroom', 'admin', 'test']);
const SECRETS = ['URL_SIGNING_KEY', 'ENCRYPTION_KEY', 'ADMIN_TOKEN'] as const;

/** Reports settings that are not allowed in production. */
export function rejectDevelopmentDefaults(read: EnvironmentReader): void {
  if (read.text('NODE_ENV') !== 'production' && isLoopback(read.text('HOST'))) return;
  for (const name of SECRETS) {
    if (isWeak(read.text(name))) read.report(`${name} is not a secret: generate one with openssl rand -hex 32`);
  }
  for (const name of ['URL_SIGNING_KEY_FALLBACKS', 'ENCRYPTION_KEY_FALLBACKS'] as const) {
    // A weak key that is being replaced is rejected as well: an attacker who knows it can still use it.
    if (read.longSecrets(name).some(isWeak)) read.report(`${name} contains a value that is not a secret: remove it`);
  }
  if (read.text('URL_SIGNING_KEY') !== '' && read.text('URL_SIGNING_KEY') === read.text('ENCRYPTION_KEY')) {
    read.report('URL_SIGNING_KEY and ENCRYPTION_KEY are the same: each needs its own secret');
  }
  for (const name of ['DATABASE_URL', 'DATABASE_DIRECT_URL'] as const) {
    const database = read.text(name);
    const password = URL.canParse(database) ? new URL(database).password : '';
    if (KNOWN_PASSWORDS.has(decodeURIComponent(password).toLowerCase())) {
      read.report(`${name} has a well-known password: set another one for the role`);
    }
  }
}

function isWeak(secret: string): boolean {
  return secret !== '' && (PLACEHOLDER.test(secret) || new Set(secret).size < LEAST_DIFFERENT_CHARACTERS);
}
