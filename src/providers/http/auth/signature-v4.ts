/**
 * AWS Signature Version 4 ("Signature Version 4 signing process", AWS General Reference), and Volcengine's variant of
 * it, which has other names for the algorithm, the end of the scope and the headers, and no prefix of the key.
 */
import { createHash, createHmac } from 'node:crypto';

export interface SigningKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  readonly service: string;
}

interface Variant {
  readonly algorithm: string;
  readonly scopeEnd: string;
  readonly keyPrefix: string;
  readonly dateHeader: string;
  readonly hashHeader: string;
}

const VARIANTS: Readonly<Record<'aws' | 'volcengine', Variant>> = {
  aws: {
    algorithm: 'AWS4-HMAC-SHA256',
    scopeEnd: 'aws4_request',
    keyPrefix: 'AWS4',
    dateHeader: 'x-amz-date',
    hashHeader: 'x-amz-content-sha256',
  },
  volcengine: {
    algorithm: 'HMAC-SHA256',
    scopeEnd: 'request',
    keyPrefix: '',
    dateHeader: 'x-date',
    hashHeader: 'x-content-sha256',
  },
};

/** @returns the headers that sign a request: the date, the hash of the body, and `authorization`. */
export function signV4(
  { method, url, body }: { readonly method: string; readonly url: URL; readonly body: Buffer | undefined },
  key: SigningKey,
  { variant = 'aws', now }: { readonly variant?: 'aws' | 'volcengine' | undefined; readonly now: Date },
): Readonly<Record<string, string>> {
  const { algorithm, scopeEnd, keyPrefix, dateHeader, hashHeader } = VARIANTS[variant];
  const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const bodyHash = sha256(body ?? '');
  const headers: Readonly<Record<string, string>> = {
    host: url.host,
    [hashHeader]: bodyHash,
    [dateHeader]: time,
  };
  const names = Object.keys(headers).toSorted();
  const canonicalRequest = [
    method,
    canonicalPath(url.pathname),
    canonicalQuery(url.searchParams),
    ...names.map((name) => `${name}:${headers[name]}`),
    '',
    names.join(';'),
    bodyHash,
  ].join('\n');

  const scope = [day, key.region, key.service, scopeEnd].join('/');
  const toSign = [algorithm, time, scope, sha256(canonicalRequest)].join('\n');
  const signingKey = [day, key.region, key.service, scopeEnd].reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part, 'utf8').digest(),
    `${keyPrefix}${key.secretAccessKey}`,
  );
  const signature = createHmac('sha256', signingKey).update(toSign, 'utf8').digest('hex');
  const credential = `${key.accessKeyId}/${scope}`;
  return {
    [hashHeader]: bodyHash,
    [dateHeader]: time,
    authorization: `${algorithm} Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}

/** Each segment is encoded again, as the specification has it for every service but S3. */
function canonicalPath(pathname: string): string {
  return pathname.split('/').map(encode).join('/');
}

function canonicalQuery(parameters: URLSearchParams): string {
  return Array.from(parameters, ([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted()
    .join('&');
}

/** RFC 3986: `encodeURIComponent` leaves five more characters than may remain. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
