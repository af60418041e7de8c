/** Requests the digest behind a tag from an image registry (OCI distribution specification, “Pulling manifests”). */
import { createHash } from 'node:crypto';
import { DIGEST } from './lock.ts';

/** A problem that the user of the tool can fix; printed without a stack. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError';
}

/** An index first: its digest covers every platform. */
const MANIFESTS = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');
const TIMEOUT_MS = 30_000;
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;

/**
 * The current digest of a tag in the registry. It is computed from the manifest, so that a registry that reports a
 * different one is detected.
 *
 * @param registry its URL, e.g. `https://registry.example.com`.
 * @param image with its tag; one without a path is in `library/`.
 * @throws {RegistryError} it does not exist, or the registry does not respond as it should.
 */
export async function resolveDigest(registry: string, image: string): Promise<string> {
  const [, name = '', tag = ''] = /^([^:@]+):([^:@]+)$/.exec(image) ?? [];
  if (tag === '') throw new RegistryError(`${image} is no name with a tag`);
  const repository = name.includes('/') ? name : `library/${name}`;
  const url = new URL(`/v2/${repository}/manifests/${tag}`, registry);
  let response = await send(url);
  if (response.status === 401) {
    response = await send(url, await requestToken(response.headers.get('www-authenticate') ?? ''));
  }
  if (!response.ok) throw new RegistryError(`${image}: the registry answers ${response.status}`);
  const manifest = Buffer.from(await response.arrayBuffer());
  if (manifest.length > MAX_MANIFEST_BYTES) throw new RegistryError(`${image}: its manifest is too large`);
  const digest = `sha256:${createHash('sha256').update(manifest).digest('hex')}`;
  const reported = response.headers.get('docker-content-digest');
  if (reported !== null && reported !== digest) {
    throw new RegistryError(`${image}: the registry reports ${reported}, and its manifest has ${digest}`);
  }
  if (!DIGEST.test(digest)) throw new RegistryError(`${image}: ${digest} is no digest`);
  return digest;
}

/** An anonymous read token, obtained as the response with 401 describes. */
async function requestToken(challenge: string): Promise<string> {
  const fields = new Map([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]));
  const realm = fields.get('realm');
  if (!/^Bearer /i.test(challenge) || realm === undefined) {
    throw new RegistryError('the registry requires a login of a kind that is not supported here');
  }
  const url = new URL(realm);
  for (const name of ['service', 'scope']) {
    const value = fields.get(name);
    if (value !== undefined) url.searchParams.set(name, value);
  }
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw new RegistryError(`the registry gives no token: ${response.status}`);
  const { token, access_token: accessToken } = (await response.json()) as { token?: string; access_token?: string };
  const given = token ?? accessToken;
  if (given === undefined) throw new RegistryError('the registry gives no token');
  return given;
}

function send(url: URL, token?: string): Promise<Response> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return fetch(url, { headers: { accept: MANIFESTS, ...authorization }, signal: AbortSignal.timeout(TIMEOUT_MS) });
}
