/**
 * What an environment is likely to have by mistake, although each setting is well-formed: names that look like settings
 * of ours and are not, and in production the settings of a developer's machine.
 */
import { distance } from 'fastest-levenshtein';
import { EnvironmentReader } from './environment.ts';
import { isLoopback } from './listeners.ts';
import { VARIABLES } from './variables.ts';
import type { Variable } from './variables.ts';

export interface UnknownVariable {
  readonly name: string;
  /** For an operator: that it is not a setting, and which one may be meant. */
  readonly message: string;
}

/** Read by docker-compose.yml; with `env_file` they reach our processes as well. */
export const COMPOSE_NAMES: readonly string[] = [
  'POSTGRES_PASSWORD',
  'DARKROOM_DB_PASSWORD',
  'TEMPORAL_DB_PASSWORD',
  'SITE_ADDRESS',
  'PUBLISH_HTTPS',
  'PUBLISH_HTTP',
  'TEMPORAL_UI',
  'TEMPORAL_UI_USER',
  'TEMPORAL_UI_PASSWORD_HASH',
  'PUBLISH_TEMPORAL_UI',
  'DARKROOM_IMAGE',
  'NODE_IMAGE',
  'RUNTIME_IMAGE',
  'POSTGRES_IMAGE',
  'TEMPORAL_SERVER_IMAGE',
  'TEMPORAL_ADMIN_TOOLS_IMAGE',
  'TEMPORAL_UI_IMAGE',
  'CADDY_IMAGE',
];

/**
 * Names of our clients, of callback receivers and the guides' examples, of the dashboard's development server, and of
 * tests.
 */
const OF_OUR_OTHERS = /^DARKROOM_(?:API_KEY|BASE_URL|WEBHOOK_SECRET|TEST_\w+)$/;
/** Prefixes that belong to other programs. */
const OF_OTHERS = /^(?:npm_|NODE_|PG[A-Z]+$|AWS_|KUBERNETES_)/;
/**
 * What Kubernetes sets in every container for each service of its namespace: ours may well be called `darkroom-api`.
 */
const OF_KUBERNETES = /_SERVICE_(?:HOST|PORT)|_PORT_\d{1,5}_(?:TCP|UDP)/;
const OF_UPSTREAM = /^UPSTREAM_[A-Z0-9_]+_(?:KEY(?:_FILE)?|URL)$/;

/** The variable of an upstream's credentials, except for the first word. */
const CREDENTIALS = /^([A-Z]+)(_[A-Z0-9_]+_KEY(?:_FILE)?)$/;
/** First words that other programs use for their settings too, which may have the same name with one word less. */
const SHARED_WORDS = /^(?:DATABASE|OTEL|S3|TEMPORAL|TLS)_/;

/**
 * A shorter name is similar to too many others (`HOST`, `PORT`), unless only its case differs or two adjacent letters
 * are swapped.
 */
const LEAST_CHARACTERS = 8;
/** Two typing errors. */
const MOST_EDITS = 2;

const SETTINGS: readonly string[] = Object.entries(VARIABLES).flatMap(([name, variable]) =>
  (variable as Variable).kind === 'secret' ? [name, `${name}_FILE`] : [name],
);
const VALID_NAMES: ReadonlySet<string> = new Set([...SETTINGS, ...COMPOSE_NAMES]);

/**
 * Variables with a value that look like settings of ours but are not, sorted by name: a misspelled one would be ignored
 * silently, and its default used. They are only reported, never an error, because the environment is shared with other
 * programs. Values are not shown: the variable may be a secret with a misspelled name.
 */
export function unknownVariables(environment: NodeJS.ProcessEnv): readonly UnknownVariable[] {
  return Object.entries(environment)
    .filter(([name, value]) => value !== undefined && value !== '' && !isKnown(name, value))
    .flatMap(([name]) => {
      const hint = hintFor(name);
      return hint === undefined ? [] : [{ name, message: `${name} is not a setting; ${hint}` }];
    })
    .toSorted((one, other) => one.name.localeCompare(other.name));
}

function isKnown(name: string, value: string): boolean {
  if (VALID_NAMES.has(name) || OF_UPSTREAM.test(name) || OF_OUR_OTHERS.test(name)) return true;
  // Also with a prefix of another program: `NODE_EVN`.
  if (SETTINGS.some((setting) => isSwapped(name, setting))) return false;
  return OF_OTHERS.test(name) || OF_KUBERNETES.test(name) || /^(?:tcp|udp):\/\//.test(value);
}

/** @returns undefined: it does not resemble any of ours. */
function hintFor(name: string): string | undefined {
  const upper = name.toUpperCase();
  const [nearest] = SETTINGS.flatMap((setting) => {
    const edits = editsBetween(upper, setting);
    return edits === undefined ? [] : [{ setting, edits }];
  }).toSorted((one, other) => one.edits - other.edits);
  if (nearest !== undefined) return `did you mean ${nearest.setting}?`;
  const [, word = '', rest = ''] = CREDENTIALS.exec(upper) ?? [];
  // One edit: `STREAM_API_KEY` belongs to another program.
  if (word !== 'UPSTREAM' && editsInWord(word, 'UPSTREAM') === 1) return `did you mean UPSTREAM${rest}?`;
  if (upper.startsWith('UPSTREAM_')) {
    return 'the credentials of an upstream are in UPSTREAM_<NAME>_KEY, in capital letters';
  }
  return upper.startsWith('DARKROOM_') ? '.env.example has all of them' : undefined;
}

/**
 * The edit distance between a name and a setting, word by word: `TEMPORAL_HOST` is not `TEMPORAL_PORT` with two wrong
 * letters, but a different word.
 *
 * @param name in capital letters.
 * @returns undefined: they are different names.
 */
function editsBetween(name: string, setting: string): number | undefined {
  if (name === setting) return 0;
  if (isSwapped(name, setting)) return 1;
  if (setting.length < LEAST_CHARACTERS) return undefined;
  if (name.replaceAll('_', '') === setting.replaceAll('_', '')) return 0;
  const [words, wanted] = [wordsOf(name), wordsOf(setting)];
  if (isWordMissing(words, wanted) && !SHARED_WORDS.test(setting)) return MOST_EDITS;
  if (words.length !== wanted.length) return undefined;
  let edits = 0;
  for (const [position, word] of wanted.entries()) {
    const given = words[position] ?? '';
    const here = editsInWord(given, word);
    if (here > editsAllowed(word) && !isSwapped(given, word)) return undefined;
    edits += here;
  }
  return edits <= MOST_EDITS ? edits : undefined;
}

/** Whether one word is missing between the first and the last, which identify a setting. */
function isWordMissing(words: readonly string[], wanted: readonly string[]): boolean {
  if (words.length < 2 || words.length !== wanted.length - 1) return false;
  return wanted.slice(1, -1).some((_word, at) => wanted.toSpliced(at + 1, 1).join('_') === words.join('_'));
}

/** `PROXY` for `PROXIES` does not count as three edits. */
function wordsOf(name: string): string[] {
  return name.split('_').map((word) => word.replace(/IES$/, 'Y'));
}

/**
 * Letters that are added, left out or replaced. Two adjacent swapped letters are one edit, as in the optimal string
 * alignment; more than one such pair in a word is not detected.
 */
function editsInWord(word: string, wanted: string): number {
  const swapped = swapsOf(word).map((swap) => 1 + distance(swap, wanted));
  return Math.min(distance(word, wanted), ...swapped);
}

function isSwapped(word: string, wanted: string): boolean {
  return word.length === wanted.length && word !== wanted && swapsOf(word).includes(wanted);
}

/** The word with two adjacent letters swapped, for each pair of them. */
function swapsOf(word: string): string[] {
  return Array.from(
    word.slice(1),
    (letter, at) => word.slice(0, at) + letter + word.slice(at, at + 1) + word.slice(at + 2),
  );
}

function editsAllowed({ length }: string): number {
  if (length <= 2) return 0;
  return length <= 4 ? 1 : MOST_EDITS;
}

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

/** `NODE_ENV` is `production`, as in our container images, or the api does not listen on loopback. */
function isProduction(read: EnvironmentReader): boolean {
  return read.text('NODE_ENV') === 'production' || !isLoopback(read.text('HOST'));
}

/** Reports settings that are acceptable on a developer's machine, and rejected in production. */
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
