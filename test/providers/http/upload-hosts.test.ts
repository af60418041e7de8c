/** Uploads to a storage host that the provider names: what it rejects, and what it is not sent. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HttpBindingSchema } from '../../../src/providers/http/binding.ts';
import type { HttpBinding } from '../../../src/providers/http/binding.ts';
import { ProviderRejection } from '../../../src/providers/provider.ts';
import { compileCheck } from '../../../src/schema/schema-validation.ts';
import { JOBS, bind, withRecorder, withScratch } from './recorder.ts';
import type { Recorded } from './recorder.ts';

const FILE = Buffer.from('the file');

const uploaded = (storage: string, send: object = {}): HttpBinding => ({
  ...JOBS,
  hosts: [{ host: new URL(storage).host, receivesCredential: true }],
  media: { image_url: 'upload' },
  submit: { path: "'/jobs'", body: '{ "image": image_url }' },
  upload: {
    path: "'/uploads'",
    body: '{ "type": $file.mimeType }',
    send: {
      method: 'POST',
      url: 'url',
      form: [{ fields: '$parseJson(fields)' }, { name: 'file', isFile: true }],
      ...send,
    },
    reference: 'id',
  },
});

interface Outcome {
  readonly error: unknown;
  readonly toApi: readonly Recorded[];
  readonly toStorage: readonly Recorded[];
}

/**
 * A submit with one file to upload.
 *
 * @param statuses of the storage host, one after another; the last one again and again.
 * @param issue answers the first request of each upload.
 */
async function submitted(
  statuses: readonly number[],
  {
    send,
    issue = 200,
    onStorage = () => undefined,
    signal,
  }: {
    readonly send?: object;
    readonly issue?: number;
    readonly onStorage?: () => void;
    readonly signal?: AbortSignal;
  } = {},
): Promise<Outcome> {
  let outcome: Outcome = { error: undefined, toApi: [], toStorage: [] };
  let sends = 0;
  let uploads = 0;
  await withRecorder(
    (_, response) => {
      response.writeHead(statuses[Math.min(sends++, statuses.length - 1)] ?? 500).end('<Error/>');
      onStorage();
      return undefined;
    },
    async (storage) => {
      await withRecorder(
        ({ url }, response) => {
          if (url !== '/v1/uploads') return { id: 'job-1' };
          uploads += 1;
          const fields = JSON.stringify({ key: `key-${uploads}`, policy: 'p' });
          response.statusCode = issue;
          return { id: `file-${uploads}`, url: `${storage.origin}/bucket`, fields };
        },
        ({ origin, requests }) =>
          withScratch(async ({ call, inputFile }) => {
            const media = new Map([['image_url', await inputFile('image/png', FILE)]]);
            const http = uploaded(storage.origin, send);
            const { provider, request } = bind(http, { origin, input: { image_url: 'u' }, media });
            const error = await provider
              .submit(request, { ...call, ...(signal === undefined ? {} : { signal }) })
              .then(() => undefined)
              .catch((reason: unknown) => reason);
            outcome = { error, toApi: [...requests], toStorage: [...storage.requests] };
          }),
      );
    },
  );
  return outcome;
}

const keysOf = (requests: readonly Recorded[]) =>
  requests.map(({ body }) => /name="key"\r\n\r\n(key-\d)/.exec(body.toString('latin1'))?.[1]);

describe('a storage host that rejects an upload', () => {
  it('gets it again, from a new first request, and the submit has the last reference', async () => {
    for (const status of [400, 403, 404, 410]) {
      const { error, toApi, toStorage } = await submitted([status, status, 204]);

      assert.equal(error, undefined);
      assert.deepEqual(keysOf(toStorage), ['key-1', 'key-2', 'key-3'], String(status));
      assert.ok(toStorage.every(({ body }) => body.includes(FILE)));
      assert.deepEqual(
        toApi.map(({ url }) => url),
        ['/v1/uploads', '/v1/uploads', '/v1/uploads', '/v1/jobs'],
      );
      assert.equal(toApi.at(-1)?.body.toString(), '{"image":"file-3"}');
    }
  });

  it('is not available after three times, which says nothing about model or credential, and nothing is submitted', async () => {
    const { error, toApi, toStorage } = await submitted([403]);

    assert.ok(error instanceof ProviderRejection);
    const { reason, condition, retryAfterMs, note } = error;
    assert.deepEqual([reason, condition, retryAfterMs], ['provider_unavailable', undefined, 5_000]);
    assert.equal(note, 'the file of an upload was rejected with 403 where upload.send sent it');
    assert.equal(toStorage.length, 3);
    assert.ok(toApi.every(({ url }) => url === '/v1/uploads'));
  });

  it('is believed at once if the file is too large or of the wrong type, and at last if the request is wrong', async () => {
    for (const [status, times] of [
      [413, 1],
      [415, 1],
      [422, 1],
      [400, 3],
    ] as const) {
      const { error, toStorage } = await submitted([status]);

      assert.ok(error instanceof ProviderRejection);
      assert.equal(error.reason, 'input_invalid');
      assert.equal(toStorage.length, times);
    }
  });

  it('gets nothing more once the task may take no more time', async () => {
    const stop = new AbortController();
    const why = new Error('the deadline');
    const { error, toStorage } = await submitted([403], { onStorage: () => stop.abort(why), signal: stop.signal });

    assert.equal(error, why);
    assert.equal(toStorage.length, 1);
  });

  it('is another service than the API, whose first response means what it means for a submit', async () => {
    for (const [issue, reason] of [
      [403, 'model_unavailable'],
      [402, 'model_unavailable'],
      [422, 'input_invalid'],
    ] as const) {
      const { error, toApi, toStorage } = await submitted([204], { issue });

      assert.ok(error instanceof ProviderRejection);
      assert.equal(error.reason, reason);
      assert.deepEqual([toApi.length, toStorage.length], [1, 0]);
    }
  });
});

describe('upload.send.receivesCredential', () => {
  const authorizations = (requests: readonly Recorded[]) => requests.map(({ headers }) => headers.authorization);

  it('is by default what hosts says', async () => {
    const { toApi, toStorage } = await submitted([204]);

    assert.deepEqual(authorizations(toStorage), ['Bearer the-key']);
    assert.deepEqual(authorizations(toApi), ['Bearer the-key', 'Bearer the-key']);
  });

  it('keeps the credential from a host that could have it', async () => {
    const { error, toApi, toStorage } = await submitted([204], { send: { receivesCredential: false } });

    assert.equal(error, undefined);
    assert.deepEqual(authorizations(toStorage), [undefined]);
    assert.deepEqual(authorizations(toApi), ['Bearer the-key', 'Bearer the-key']);
  });

  it('keeps it from the origin of the base URL, whatever the scheme is', async () => {
    for (const auth of [
      { scheme: 'bearer' },
      { scheme: 'header', name: 'x-key' },
      { scheme: 'query', name: 'key' },
      { scheme: 'basic' },
    ] as const) {
      await withRecorder(
        ({ url, headers }) => {
          if (url.startsWith('/v1/jobs')) return { id: 'job-1' };
          return url.startsWith('/v1/uploads')
            ? { id: 'f', fields: '{}', url: `http://${headers.host}/signed?s=1` }
            : {};
        },
        ({ origin, requests }) =>
          withScratch(async ({ call, inputFile }) => {
            const media = new Map([['image_url', await inputFile('image/png', FILE)]]);
            const http = { ...uploaded('http://other.example', { receivesCredential: false }), auth };
            const { provider, request } = bind(http, { origin, secret: 'me:it', input: { image_url: 'u' }, media });
            await provider.submit(request, call);

            const hasKey = ({ url, headers }: Recorded) =>
              /key=me/.test(url) || (headers.authorization ?? headers['x-key']) !== undefined;
            assert.deepEqual(requests.map(hasKey), [true, false, true], auth.scheme);
            assert.equal(requests[1]?.url, '/signed?s=1');
          }),
      );
    }
  });

  it('has no other value than false: hosts says which hosts may have the credential', () => {
    const check = compileCheck(HttpBindingSchema, 'invalid model file');
    const of = (receivesCredential: boolean) => check(uploaded('http://storage.example', { receivesCredential }));

    assert.equal(of(false), undefined);
    assert.match(String(of(true)), /upload\.send\.receivesCredential/);
  });
});
