/**
 * The credential of an upstream for `models try`: the one that a worker would use, or a placeholder; and how it is kept
 * out of what is printed and recorded.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Upstream } from '../../../catalogue/definition.ts';
import type { UpstreamEnvironment } from '../../../config/environment.ts';
import { canonicalName } from '../../../domain/upstream-names.ts';
import { errorCodeOf } from '../../../domain/darkroom-error.ts';
import type { Auth } from '../../../providers/http/auth/auth.ts';
import { createSecretSource, secretVariable } from '../../../upstreams/secrets.ts';
import { AdminError } from '../admin-error.ts';
import { textAt } from '../../../providers/json-answer.ts';

interface Credential {
  readonly isConfigured: boolean;
  readonly secret: string | undefined;
  /** By name. */
  readonly values: Readonly<Record<string, string>>;
}

/**
 * The credential as a worker finds it in the environment, or one of the same form, so that a request can be shown
 * without it.
 *
 * @throws {AdminError} its file cannot be read.
 */
export async function findCredential(
  { secret: name }: Upstream,
  { secrets, secretFiles }: UpstreamEnvironment,
  auth: Auth | undefined,
): Promise<Credential> {
  if (name === undefined) return { isConfigured: true, secret: undefined, values: {} };
  const file = Object.entries(secretFiles).find(([each]) => canonicalName(each) === canonicalName(name))?.[1];
  const values = file === undefined ? secrets : { ...secrets, [name]: await readCredential(name, file) };
  const secret = createSecretSource(values).get(name);
  if (secret !== undefined) return { isConfigured: true, secret, values };
  const placeholder = placeholderFor(auth);
  return { isConfigured: false, secret: placeholder, values: { [name]: placeholder } };
}

async function readCredential(name: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new AdminError(`${secretVariable(name)}_FILE: ${file} cannot be read (${errorCodeOf(error)})`, {
      cause: error,
    });
  }
}

function placeholderFor(auth: Auth | undefined): string {
  const random = (): string => randomBytes(16).toString('hex');
  if (auth?.scheme !== 'google-service-account') return `${random()}:${random()}`;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  return JSON.stringify({ client_email: 'nobody@example.com', private_key: pem });
}

/** Masks a credential where it is sent, and wherever a provider repeats it: in its place is the name of its variable. */
export interface CredentialMask {
  readonly text: (text: string) => string;
  /** All strings of a JSON value, names of members included. */
  json(value: unknown): unknown;
  url(url: URL): string;
  /** Headers of a request. What they reveal of the credential is masked from then on, wherever it occurs. */
  headers(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
}

/** What may stand before a credential in `authorization`. */
const PREFIXES = ['Bearer ', 'Basic ', 'AWS4-HMAC-SHA256 ', 'HMAC-SHA256 '];
/** A shorter id before the colon of a credential is no secret, and masking it would mask half of every text. */
const SHORTEST_ID = 8;

/** @param name of the credential. @param secret undefined: there is none. */
export function createCredentialMask(
  name: string | undefined,
  secret: string | undefined,
  auth: Auth = { scheme: 'bearer' },
): CredentialMask {
  const mask = `[${name === undefined ? 'credential' : secretVariable(name)}]`;
  const known = new Set<string>();
  let pattern: RegExp | undefined;

  const learn = (...texts: readonly string[]): void => {
    for (const text of texts.flatMap(spellingsOf)) if (text !== '') known.add(text);
    const inOrder = [...known].toSorted((one, other) => other.length - one.length);
    pattern = inOrder.length === 0 ? undefined : new RegExp(inOrder.map(literal).join('|'), 'gi');
  };
  const text = (given: string): string => (pattern === undefined ? given : given.replace(pattern, () => mask));
  const json = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return value.map(json);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [text(key), json(member)]));
  };
  const isCredential = (header: string): boolean =>
    header === 'authorization' || (auth.scheme === 'header' && header === auth.name?.toLowerCase());
  const headerOf = (value: string): string => {
    const prefix = [auth.prefix ?? '', ...PREFIXES].find((each) => each !== '' && value.startsWith(each)) ?? '';
    // A signature is another one each time, and is worth nothing afterwards.
    if (!prefix.endsWith('SHA256 ')) learn(value.slice(prefix.length));
    return `${prefix}${mask}`;
  };

  if (secret !== undefined) learn(...partsOf(secret));
  return {
    text,
    json,
    url(url) {
      const search = url.search
        .slice(1)
        .split('&')
        .map((pair) => {
          const [parameter = ''] = pair.split('=', 1);
          return auth.scheme === 'query' && parameter === auth.name ? `${parameter}=${mask}` : pair;
        });
      return text(`${url.origin}${url.pathname}${url.search === '' ? '' : `?${search.join('&')}`}`);
    },
    headers: (headers) =>
      Object.fromEntries(
        Object.entries(headers).map(([header, value]) => [
          header.toLowerCase(),
          isCredential(header.toLowerCase()) ? headerOf(value) : text(value),
        ]),
      ),
  };
}

/** A credential and the secrets in it: behind the first colon, or the strings of a key file. */
function partsOf(secret: string): readonly string[] {
  const colon = secret.indexOf(':');
  if (secret.startsWith('{')) {
    const file = parseJson(secret);
    return [secret, ...['private_key', 'private_key_id'].flatMap((member) => textAt(file, member) ?? [])];
  }
  if (colon === -1) return [secret];
  const id = secret.slice(0, colon);
  return [secret, secret.slice(colon + 1), ...(id.length < SHORTEST_ID ? [] : [id])];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** How a text may be written in a URL, a form, JSON and a header. */
function spellingsOf(text: string): readonly string[] {
  const base64 = Buffer.from(text, 'utf8').toString('base64');
  const encoded = encodeURIComponent(text);
  return [
    text,
    encoded,
    encoded.replaceAll('%20', '+'),
    JSON.stringify(text).slice(1, -1),
    base64,
    base64.replaceAll('=', ''),
    base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''),
  ];
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}
