/**
 * Variables of the environment that look like settings of ours and are none: a misspelt one would be ignored without a
 * word, and its default taken. Only pointed out, never an error, because the environment is shared with other programs.
 * Values are not shown: it may be a secret whose name is misspelt.
 */
import { distance } from 'fastest-levenshtein';
import { VARIABLES } from './variables.ts';
import type { Variable } from './variables.ts';

export interface UnknownVariable {
  readonly name: string;
  /** For an operator: that it is no setting, and what may be meant. */
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
  'POSTGRES_IMAGE',
  'TEMPORAL_SERVER_IMAGE',
  'TEMPORAL_ADMIN_TOOLS_IMAGE',
  'TEMPORAL_UI_IMAGE',
  'CADDY_IMAGE',
];

/** Of our clients, of receivers of callbacks (the guides' examples), and of what tests start. */
const OF_OUR_OTHERS = /^DARKROOM_(?:API_KEY|BASE_URL|WEBHOOK_SECRET|TEST_\w+)$/;
/** A prefix that belongs to another program. */
const OF_OTHERS = /^(?:npm_|NODE_|PG[A-Z]+$|AWS_|KUBERNETES_)/;
/** What Kubernetes sets in every container for each service of its namespace: ours may well be called `darkroom-api`. */
const OF_KUBERNETES = /_SERVICE_(?:HOST|PORT)|_PORT_\d{1,5}_(?:TCP|UDP)/;
const UPSTREAM_KEY = /^UPSTREAM_[A-Z0-9_]+_KEY(?:_FILE)?$/;

/** A shorter name is like too many others: `HOST`, `PORT`. */
const LEAST_CHARACTERS = 8;
/** Two slips of the fingers, or one letter for another. */
const MOST_EDITS = 2;

const SETTINGS: readonly string[] = Object.entries(VARIABLES).flatMap(([name, variable]) =>
  (variable as Variable).kind === 'secret' ? [name, `${name}_FILE`] : [name],
);
const KNOWN: ReadonlySet<string> = new Set([...SETTINGS, ...COMPOSE_NAMES]);
const COMPARED = SETTINGS.filter(({ length }) => length >= LEAST_CHARACTERS);

/** Those that are set to something, by name. */
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
  if (KNOWN.has(name) || UPSTREAM_KEY.test(name) || OF_OUR_OTHERS.test(name)) return true;
  return OF_OTHERS.test(name) || OF_KUBERNETES.test(name) || /^(?:tcp|udp):\/\//.test(value);
}

/** @returns undefined: it looks like nothing of ours. */
function hintFor(name: string): string | undefined {
  const upper = name.toUpperCase();
  const [nearest] = COMPARED.flatMap((setting) => {
    const edits = editsBetween(upper, setting);
    return edits === undefined ? [] : [{ setting, edits }];
  }).toSorted((one, other) => one.edits - other.edits);
  if (nearest !== undefined) return `did you mean ${nearest.setting}?`;
  if (upper.startsWith('UPSTREAM_')) {
    return 'the credentials of an upstream are in UPSTREAM_<NAME>_KEY, in capital letters';
  }
  return upper.startsWith('DARKROOM_') ? '.env.example has all of them' : undefined;
}

/**
 * How far a name is from a setting, word by word: `TEMPORAL_HOST` is not `TEMPORAL_PORT` with two wrong letters, but
 * another word.
 *
 * @returns undefined: they are different names.
 */
function editsBetween(name: string, setting: string): number | undefined {
  if (name.replaceAll('_', '') === setting.replaceAll('_', '')) return 0;
  const [words, wanted] = [wordsOf(name), wordsOf(setting)];
  if (words.length !== wanted.length) return undefined;
  let edits = 0;
  for (const [position, word] of wanted.entries()) {
    const here = distance(words[position] ?? '', word);
    if (here > editsAllowed(word)) return undefined;
    edits += here;
  }
  return edits <= MOST_EDITS ? edits : undefined;
}

/** `PROXY` for `PROXIES` is no three slips. */
function wordsOf(name: string): string[] {
  return name.split('_').map((word) => word.replace(/IES$/, 'Y'));
}

function editsAllowed({ length }: string): number {
  if (length <= 2) return 0;
  return length <= 4 ? 1 : MOST_EDITS;
}
