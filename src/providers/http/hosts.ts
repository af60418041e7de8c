/**
 * The further hosts of a binding: a provider may name a URL there, for a poll, a result or an upload, and only those
 * for which the file says so receive the credential. Its paths lead to the base URL otherwise.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';

export const HostsSchema = Type.Array(
  Type.Object(
    {
      host: Type.String({
        pattern: '^(\\*\\.)?[a-z0-9-]{1,63}(\\.[a-z0-9-]{1,63}){0,9}(:[0-9]{1,5})?$',
        description: 'A host name, with its port unless that is the default one; `*.` stands for any names before it.',
      }),
      receivesCredential: Type.Optional(
        Type.Boolean({ description: 'Whether the credential is sent there too. Default: no.' }),
      ),
    },
    { additionalProperties: false },
  ),
  { minItems: 1, maxItems: 20, description: 'Hosts besides that of the base URL to which requests may go.' },
);

type Host = Static<typeof HostsSchema>[number];

/** Where an upstream is. */
export interface HostScope {
  readonly baseUrl?: string | undefined;
  readonly hosts?: readonly Host[] | undefined;
}

/** @returns the entry for a URL's host. A URL on another scheme than the base URL's has none. */
function findHost(url: URL, { baseUrl, hosts }: HostScope): Host | undefined {
  if (baseUrl === undefined || url.protocol !== new URL(baseUrl).protocol) return undefined;
  if (url.username !== '' || url.password !== '') return undefined;
  return hosts?.find(({ host }) => matches(url.host, host));
}

function matches(host: string, pattern: string): boolean {
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern;
}

/** Whether a request may go to a URL that an expression gives. */
export function isAllowed(url: URL, scope: HostScope): boolean {
  return findHost(url, scope) !== undefined;
}

export function mayReceiveCredential(url: URL, scope: HostScope): boolean {
  return findHost(url, scope)?.receivesCredential === true;
}

/**
 * Why a request may not go to a URL, for the author of a model file.
 *
 * @returns the entry of `hosts` that nearly allows it, or what else is wrong; undefined: no entry is near.
 */
export function findNearMiss(url: URL, { baseUrl, hosts = [] }: HostScope): string | undefined {
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return undefined;
  const { protocol } = new URL(baseUrl);
  const sameName = [...hosts.map(({ host }) => host), new URL(baseUrl).host].find((entry) =>
    matches(url.hostname, withoutPort(entry)),
  );
  const nextDomain = hosts.find(({ host }) => host === `*.${url.host}`)?.host;
  if (sameName === undefined) {
    return nextDomain === undefined ? undefined : `${nextDomain} stands only for names below ${url.host}`;
  }
  if (url.protocol !== protocol) return `${url.host} is reached by ${protocol.slice(0, -1)} only, as baseUrl is`;
  if (url.username !== '' || url.password !== '') return 'a URL with user and password is never used';
  return `hosts needs ${url.host}; ${sameName} is another port`;
}

function withoutPort(entry: string): string {
  return entry.replace(/:[0-9]+$/, '');
}
