/** The credential schemes of the `http` binding whose secret is not what is sent. */
import assert from 'node:assert/strict';
import { createHash, createHmac, generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { SignatureV4 } from '@smithy/signature-v4';
import { importSPKI, jwtVerify } from 'jose';
import type { HttpBinding } from '../../../src/providers/http/binding.ts';
import { signV4 } from '../../../src/providers/http/auth/signature-v4.ts';
import { createTokens } from '../../../src/providers/http/auth/access.ts';
import { ProviderRejection, ProviderUnreachable } from '../../../src/providers/provider.ts';
import { submitCall } from '../submit-call.ts';
import { JOBS, bind, withRecorder } from './recorder.ts';
import type { Answers } from './recorder.ts';

const call = submitCall();

const answerJobs: Answers = ({ method }) => (method === 'POST' ? { id: 'job-1' } : { state: 'running' });

function bearerOf(header: string | undefined): string {
  return /^Bearer (.+)$/.exec(header ?? '')?.[1] ?? assert.fail('no bearer token');
}

describe('an upstream with signed tokens', () => {
  it('gets a JWT in HS256 that names the issuer, and the same one until shortly before it expires', async () => {
    await withRecorder(answerJobs, async ({ origin, requests }) => {
      const http: HttpBinding = { ...JOBS, auth: { scheme: 'jwt-hs256', lifetimeSeconds: 1_200 } };
      const { provider, request } = bind(http, { origin, secret: 'issuer-1:a:key' });

      await provider.submit(request, call);
      await provider.poll(request, 'job-1', call);

      const [first, second] = requests.map(({ headers }) => bearerOf(headers.authorization));
      assert.equal(first, second);
      const { payload, protectedHeader } = await jwtVerify(first ?? '', Buffer.from('a:key'));
      assert.deepEqual(protectedHeader, { alg: 'HS256', typ: 'JWT' });
      assert.equal(payload.iss, 'issuer-1');
      assert.equal((payload.exp ?? 0) - (payload.nbf ?? 0), 1_205);
    });
  });

  it('rejects work with a credential of another form, before anything is sent', async () => {
    for (const [auth, secret] of [
      [{ scheme: 'jwt-hs256' }, 'no-colon'],
      [{ scheme: 'jwt-hs256' }, ':key'],
      [{ scheme: 'sigv4', service: 's', region: 'r' }, 'no-colon'],
      [{ scheme: 'google-service-account' }, 'not JSON'],
      [{ scheme: 'google-service-account' }, '{"client_email":"a@b.example"}'],
      [{ scheme: 'google-service-account' }, '{"client_email":"a@b.example","private_key":"-----BEGIN"}'],
    ] as const) {
      await withRecorder(answerJobs, async ({ origin, requests }) => {
        const { provider, request } = bind({ ...JOBS, auth }, { origin, secret });

        await assert.rejects(
          async () => provider.submit(request, call),
          (error) =>
            error instanceof ProviderRejection &&
            error.reason === 'model_unavailable' &&
            !JSON.stringify([error.message, error.note]).includes(secret),
        );
        await assert.rejects(async () => provider.poll(request, 'job-1', call), ProviderUnreachable);
        assert.deepEqual(requests, []);
      });
    }
  });
});

describe('an upstream with tokens of an OAuth issuer', () => {
  const withIssuer = async (
    issue: (form: URLSearchParams, authorization: string | undefined, count: number) => unknown,
    work: (bench: ReturnType<typeof bind> & { counts(): { issued: number; submits: number } }) => Promise<void>,
    options: { secret: string; auth?: Partial<HttpBinding['auth']>; accepts?: (token: string) => boolean },
  ): Promise<void> => {
    let issued = 0;
    const answers: Answers = ({ url, body, headers }, response) => {
      if (url === '/token') {
        const answer = issue(new URLSearchParams(body.toString()), headers.authorization, ++issued);
        if (typeof answer !== 'number') return answer;
        response.writeHead(answer).end('{}');
        return undefined;
      }
      if (options.accepts?.(bearerOf(headers.authorization)) === false) {
        response.writeHead(401).end('{}');
        return undefined;
      }
      return { id: 'job-1' };
    };
    await withRecorder(answers, async ({ origin, requests }) => {
      const auth = { scheme: 'oauth2-client', tokenUrl: `${origin}/token`, ...options.auth } as const;
      const bound = bind({ ...JOBS, auth }, { origin, secret: options.secret });
      await work({
        ...bound,
        counts: () => ({ issued, submits: requests.filter(({ url }) => url === '/v1/jobs').length }),
      });
    });
  };

  it('obtains a token once for all who wait for it', async () => {
    const forms: string[] = [];
    await withIssuer(
      (form, authorization) => {
        forms.push(`${form.toString()} ${authorization}`);
        return { access_token: 'token-1', expires_in: 3_600 };
      },
      async ({ provider, request, counts }) => {
        await Promise.all(Array.from({ length: 20 }, async () => provider.submit(request, call)));

        assert.deepEqual(counts(), { issued: 1, submits: 20 });
        const basic = Buffer.from('client%20one:se%3Acret').toString('base64');
        assert.deepEqual(forms, [`grant_type=client_credentials&scope=media+write Basic ${basic}`]);
      },
      { secret: 'client one:se:cret', auth: { scope: 'media write' } },
    );
  });

  it('sends id and secret in the body, and the audience, where the file says so', async () => {
    await withIssuer(
      (form, authorization) => {
        assert.equal(authorization, undefined);
        assert.deepEqual(Object.fromEntries(form), {
          grant_type: 'client_credentials',
          audience: 'api',
          client_id: 'one',
          client_secret: 'secret',
        });
        return { access_token: 'token-1' };
      },
      async ({ provider, request }) => {
        await provider.submit(request, call);
      },
      { secret: 'one:secret', auth: { clientAuthentication: 'body', audience: 'api' } },
    );
  });

  it('rejects work for good where the issuer rejects the credential, and for now where it does not answer', async () => {
    for (const [status, reason] of [
      [401, 'model_unavailable'],
      [400, 'model_unavailable'],
      [500, 'provider_unavailable'],
      [429, 'provider_unavailable'],
    ] as const) {
      await withIssuer(
        () => status,
        async ({ provider, request, counts }) => {
          for (const attempt of [1, 2]) {
            await assert.rejects(async () => provider.submit(request, call), { name: 'ProviderRejection', reason });
            assert.deepEqual(counts(), { issued: attempt, submits: 0 });
          }
        },
        { secret: 'one:secret' },
      );
    }
  });

  it('takes no token that could not be a header', async () => {
    for (const token of ['a\nb', '', 7, null, 'x'.repeat(10_000)]) {
      await withIssuer(
        () => ({ access_token: token }),
        async ({ provider, request }) => {
          await assert.rejects(async () => provider.submit(request, call), { reason: 'provider_unavailable' });
        },
        { secret: 'one:secret' },
      );
    }
  });

  it('does not wait for a token longer than the task has', async () => {
    const stop = new AbortController();
    await withRecorder(
      ({ url }) => {
        if (url !== '/token') return { id: 'job-1' };
        stop.abort(new Error('the deadline'));
        return undefined;
      },
      async ({ origin }) => {
        const auth = { scheme: 'oauth2-client', tokenUrl: `${origin}/token` } as const;
        const { provider, request } = bind({ ...JOBS, auth }, { origin, secret: 'one:secret' });
        await assert.rejects(async () => provider.submit(request, submitCall({ signal: stop.signal })), {
          message: 'the deadline',
        });
      },
    );
  });

  it('reports a young token that is rejected as a credential to be checked', async () => {
    await withIssuer(
      () => ({ access_token: 'token-1', expires_in: 3_600 }),
      async ({ provider, request, counts }) => {
        await assert.rejects(async () => provider.submit(request, call), { reason: 'model_unavailable' });
        assert.deepEqual(counts(), { issued: 1, submits: 1 });
      },
      { secret: 'one:secret', accepts: () => false },
    );
  });

  it("signs the assertion of Google's service accounts", async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2_048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    const secret = JSON.stringify({
      type: 'service_account',
      client_email: 'render@project.example',
      private_key_id: 'key-1',
      private_key: privateKey,
      token_uri: 'https://elsewhere.example/token',
    });
    let assertion = '';
    await withIssuer(
      (form) => {
        assert.equal(form.get('grant_type'), 'urn:ietf:params:oauth:grant-type:jwt-bearer');
        assertion = form.get('assertion') ?? '';
        return { access_token: 'ya29.token', expires_in: 3_599 };
      },
      async ({ provider, request }) => {
        await provider.submit(request, call);

        const { payload, protectedHeader } = await jwtVerify(assertion, await importSPKI(publicKey, 'RS256'));
        assert.deepEqual(protectedHeader, { alg: 'RS256', typ: 'JWT', kid: 'key-1' });
        assert.equal(payload.iss, 'render@project.example');
        assert.match(String(payload.aud), /^http:\/\/127\.0\.0\.1:\d+\/token$/);
        assert.equal(payload['scope'], 'https://www.googleapis.com/auth/cloud-platform');
      },
      { secret, auth: { scheme: 'google-service-account' } },
    );
  });
});

describe('the tokens of a process', () => {
  const benchOf = () => {
    let nowMs = 1_000;
    let issued = 0;
    const tokens = createTokens(() => nowMs);
    return {
      pass: (ms: number) => (nowMs += ms),
      get: async (lifetimeSeconds: number) =>
        tokens.get('key', async () => Promise.resolve({ token: `token-${++issued}`, lifetimeSeconds })),
      tokens,
    };
  };

  it('are replaced a minute before they expire, or a tenth of their life if that is shorter', async () => {
    for (const [lifetimeSeconds, usableMs] of [
      [3_600, 3_540_000],
      [60, 54_000],
    ] as const) {
      const { pass, get } = benchOf();
      assert.equal(await get(lifetimeSeconds), 'token-1');
      pass(usableMs - 1);
      assert.equal(await get(lifetimeSeconds), 'token-1');
      pass(2);
      assert.equal(await get(lifetimeSeconds), 'token-2');
    }
  });

  it('are forgotten on request unless they are young', async () => {
    const { pass, get, tokens } = benchOf();
    assert.equal(tokens.forget('key'), false);
    await get(3_600);
    assert.equal(tokens.forget('key'), false);
    pass(10_001);
    assert.equal(tokens.forget('key'), true);
    assert.equal(await get(3_600), 'token-2');
  });

  it('do not keep a failure', async () => {
    const { get, tokens } = benchOf();
    await assert.rejects(
      tokens.get('key', async () => Promise.reject(new Error('no issuer'))),
      { message: 'no issuer' },
    );
    assert.equal(await get(60), 'token-1');
  });
});

/** The hash that the SDK is given in a browser or on Node. */
class Sha256 {
  readonly #hash;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    if (secret === undefined) this.#hash = createHash('sha256');
    else this.#hash = createHmac('sha256', typeof secret === 'string' ? secret : bytesOf(secret));
  }

  update(chunk: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(typeof chunk === 'string' ? chunk : bytesOf(chunk));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    assert.fail('not needed here');
  }
}

function bytesOf(data: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

describe('a request with signature version 4', () => {
  const key = { accessKeyId: 'AKID', secretAccessKey: 'secret/+key', region: 'eu-west-1', service: 'media' };
  const now = new Date('2026-11-27T06:30:05.123Z');

  it('has the signature that the AWS SDK computes', async () => {
    const official = new SignatureV4({
      credentials: { accessKeyId: key.accessKeyId, secretAccessKey: key.secretAccessKey },
      region: key.region,
      service: key.service,
      sha256: Sha256,
    });
    for (const [method, address, body] of [
      ['POST', 'https://api.example.com/v1/jobs', '{"a":"ü"}'],
      ['GET', 'https://api.example.com/?Version=2020-08-26&Action=Get Result&b=%2F*', undefined],
      ['GET', 'https://api.example.com:8443/a/b%20c/~d?z=1&a=2&a=1', undefined],
    ] as const) {
      const url = new URL(address);
      const query: Record<string, string[]> = {};
      for (const [name, value] of url.searchParams) (query[name] ??= []).push(value);
      const signed = await official.sign(
        {
          method,
          protocol: url.protocol,
          hostname: url.hostname,
          ...(url.port === '' ? {} : { port: Number(url.port) }),
          path: url.pathname,
          query,
          headers: { host: url.host },
          ...(body === undefined ? {} : { body }),
        },
        { signingDate: now },
      );
      const ours = signV4({ method, url, body: body === undefined ? undefined : Buffer.from(body) }, key, { now });
      assert.deepEqual(ours, {
        'x-amz-date': signed.headers['x-amz-date'],
        'x-amz-content-sha256': signed.headers['x-amz-content-sha256'],
        authorization: signed.headers['authorization'],
      });
    }
  });

  it("has Volcengine's names where the file says so", () => {
    const url = new URL('https://visual.example.com/?Action=CVProcess&Version=2022-08-31');
    const headers = signV4({ method: 'POST', url, body: Buffer.from('{}') }, key, { variant: 'volcengine', now });

    assert.equal(headers['x-date'], '20261127T063005Z');
    assert.match(
      headers['authorization'] ?? '',
      /^HMAC-SHA256 Credential=AKID\/20261127\/eu-west-1\/media\/request, SignedHeaders=host;x-content-sha256;x-date, Signature=[0-9a-f]{64}$/,
    );
  });

  it('is sent with every request of the binding', async () => {
    await withRecorder(answerJobs, async ({ origin, requests }) => {
      const auth = { scheme: 'sigv4', service: 'media', region: 'r1' } as const;
      const { provider, request } = bind({ ...JOBS, auth }, { origin, secret: 'AKID:secret' });

      await provider.submit(request, call);
      await provider.poll(request, 'job-1', call);

      for (const { headers } of requests)
        assert.match(headers.authorization ?? '', /^AWS4-HMAC-SHA256 Credential=AKID/);
      assert.notEqual(requests[0]?.headers.authorization, requests[1]?.headers.authorization);
    });
  });
});
