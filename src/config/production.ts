/**
 * Settings that are acceptable on a developer's machine and rejected in production: if `NODE_ENV` is `production`, as
 * in our container images, or the api does not listen on loopback.
 */
import { EnvironmentReader } from './environment.ts';
import { isLoopback } from './listeners.ts';

/** Placeholders for secrets in examples. */
const PLACEHOLDER =
  /change.?me|example|placeholder|replace.?(me|this)|insecure|development|do.?not.?use|0123456789|abcdefgh/i;
/** 32 random hexadecimal digits have fewer distinct ones about once in 60,000. */
const LEAST_DIFFERENT_CHARACTERS = 8;
const KNOWN_PASSWORDS: ReadonlySet<string> = new Set(['postgres', 'password', 'secret', 'darkroom', 'admin', 'test']);
const SECRETS = ['URL_SIGNING_KEY', 'ENCRYPTION_KEY', 'ADMIN_TOKEN'] as const;

/** Settings whose defaults are for one machine, and what the default means in production. */
const USUALLY_SET = [
  { name: 'DRAIN_SECONDS', roles: ['api'], effect: 'at a restart, requests that a balancer still sends here fail' },
  { name: 'METRICS_PORT', roles: ['api', 'worker'], effect: 'there are no metrics, and no alert can fire' },
  { name: 'TASK_RETENTION_DAYS', roles: ['api', 'worker'], effect: 'tasks stay in the database without limit' },
  { name: 'TEXT_CALL_RETENTION_DAYS', roles: ['api', 'worker'], effect: 'so do the records of text calls' },
] as const;

/** Which of them are not set, where this is production; a value of 0 is a decision, and not among them. */
export function unsetForProduction(
  environment: NodeJS.ProcessEnv,
  role: 'api' | 'worker',
): readonly { readonly name: string; readonly effect: string }[] {
  if (!isProduction(new EnvironmentReader(environment))) return [];
  return USUALLY_SET.filter(
    ({ name, roles }) => (environment[name] ?? '') === '' && (roles as readonly string[]).includes(role),
  );
}

function isProduction(read: EnvironmentReader): boolean {
  return read.text('NODE_ENV') === 'production' || !isLoopback(read.text('HOST'));
}

/** Reports settings that are not allowed in production. */
export function rejectDevelopmentDefaults(read: EnvironmentReader): void {
  if (!isProduction(read)) return;
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
