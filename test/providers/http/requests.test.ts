/** What a binding can send and read beyond JSON below its base URL: forms, files, uploads, other hosts, bodies. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { buffer } from 'node:stream/consumers';
import type { HttpBinding } from '../../../src/providers/http/binding.ts';
import { findBindingProblems } from '../../../src/providers/http/validate-binding.ts';
import { ProviderFailure, ProviderRejection, ProviderUnreachable } from '../../../src/providers/provider.ts';
import { submitCall } from '../submit-call.ts';
import { JOBS, bind, withRecorder, withScratch } from './recorder.ts';

const call = submitCall();

async function partsOf(contentType: string | undefined, body: Buffer) {
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType ?? '' } }).formData();
  return Promise.all(
    Array.from(form, async ([name, value]) =>
      typeof value === 'string'
        ? [name, value]
        : [name, value.name, value.type, Buffer.from(await value.arrayBuffer()).toString('hex')],
    ),
  );
}

describe('a submit as a form', () => {
  it('has parts from expressions and from the files of the input, in their order', async () => {
    await withScratch(async ({ call: own, inputFile }) => {
      await withRecorder(
        () => ({ id: 'job-1' }),
        async ({ origin, requests }) => {
          const form = [
            { name: 'prompt', value: 'prompt' },
            { name: 'steps', value: 'steps' },
            { name: 'seed', value: 'seed' },
            { name: 'tags[]', value: 'tags' },
            { fields: '{ "hd": hd, "id": $taskId }' },
            { name: 'image', media: 'image_urls' },
          ];
          const media = new Map([
            ['image_urls.0', await inputFile('image/png', Buffer.from([1, 2]))],
            ['image_urls.1', await inputFile('image/webp', Buffer.from([3]))],
          ]);
          const input = { prompt: 'ä\r\n--x', steps: 7, tags: ['a', 'b'], hd: true, image_urls: ['u1', 'u2'] };
          const { provider, request } = bind({ ...JOBS, submit: { path: "'/jobs'", form } }, { origin, input, media });
          assert.deepEqual(provider.takesMediaAsFiles, new Set(['image_urls']));

          await provider.submit(request, own);

          const [{ headers, body } = assert.fail()] = requests;
          assert.equal(headers['content-length'], String(body.length));
          assert.deepEqual(await partsOf(headers['content-type'], body), [
            ['prompt', 'ä\r\n--x'],
            ['steps', '7'],
            ['tags[]', 'a'],
            ['tags[]', 'b'],
            ['hd', 'true'],
            ['id', request.taskId],
            ['image', 'image_urls-0.png', 'image/png', '0102'],
            ['image', 'image_urls-1.webp', 'image/webp', '03'],
          ]);
        },
      );
    });
  });

  it('cannot be given a part whose name breaks the form', async () => {
    await withRecorder(
      () => ({ id: 'job-1' }),
      async ({ origin, requests }) => {
        const form = [{ fields: '{ prompt: "1", "fine": "2" }' }];
        const input = { prompt: 'a"\r\nx: y' };
        const { provider, request } = bind({ ...JOBS, submit: { path: "'/jobs'", form } }, { origin, input });

        await provider.submit(request, call);

        const [{ headers, body } = assert.fail()] = requests;
        assert.deepEqual(await partsOf(headers['content-type'], body), [['fine', '2']]);
      },
    );
  });
});

describe('the files of an input in a JSON body', () => {
  it('are sent in base64 where the body has them, byte for byte, and a prompt cannot ask for them', async () => {
    await withScratch(async ({ call: own, inputFile }) => {
      const bytes = [randomBytes(1_000_001), randomBytes(65_536), Buffer.alloc(0)];
      const media = new Map(
        await Promise.all(
          bytes.map(async (content, index) => [`image_urls.${index}`, await inputFile('image/png', content)] as const),
        ),
      );
      const mask = await inputFile('image/webp', Buffer.from('mask'));
      await withRecorder(
        () => ({ id: 'job-1' }),
        async ({ origin, requests }) => {
          const http: HttpBinding = {
            ...JOBS,
            media: { image_urls: 'inline', mask: 'inline' },
            submit: {
              path: "'/jobs'",
              body: '{ "say": prompt, "images": image_urls, "raw": $media.image_urls[0].base64, "mask": { "t": $media.mask.mimeType, "n": $media.mask.byteLength, "d": mask } }',
            },
          };
          const input = {
            prompt: 'darkroom-file-00000000000000000000000000000000-0000',
            image_urls: ['u', 'u', 'u'],
            mask: 'u',
          };
          const { provider, request } = bind(http, { origin, input, media: new Map([...media, ['mask', mask]]) });

          await provider.submit(request, own);

          const [{ headers, body } = assert.fail()] = requests;
          assert.equal(headers['content-length'], String(body.length));
          assert.equal(headers['content-type'], 'application/json');
          assert.deepEqual(JSON.parse(body.toString()), {
            say: input.prompt,
            images: bytes.map((content) => `data:image/png;base64,${content.toString('base64')}`),
            raw: bytes[0]?.toString('base64'),
            mask: { t: 'image/webp', n: 4, d: `data:image/webp;base64,${Buffer.from('mask').toString('base64')}` },
          });
        },
      );
    });
  });

  it('leave the URLs of other fields as they are', async () => {
    await withScratch(async ({ call: own, inputFile }) => {
      await withRecorder(
        () => ({ id: 'job-1' }),
        async ({ origin, requests }) => {
          const http: HttpBinding = {
            ...JOBS,
            media: { mask: 'inline', image_url: 'url' },
            submit: { path: "'/jobs'", body: '{ "image": image_url, "mask": mask }' },
          };
          const input = { image_url: 'https://files.example/1', mask: 'https://files.example/2' };
          const media = new Map([['mask', await inputFile('image/png', Buffer.from('m'))]]);
          const { provider, request } = bind(http, { origin, input, media });
          assert.deepEqual(provider.takesMediaAsFiles, new Set(['mask']));

          await provider.submit(request, own);

          assert.deepEqual(JSON.parse(requests[0]?.body.toString() ?? ''), {
            image: 'https://files.example/1',
            mask: 'data:image/png;base64,bQ==',
          });
        },
      );
    });
  });

  it('are rejected where a path or a header would have them, and where they are too large together', async () => {
    await withScratch(async ({ call: own, inputFile }) => {
      await withRecorder(
        () => ({ id: 'job-1' }),
        async ({ origin, requests }) => {
          const input = { image_url: 'u' };
          const image = await inputFile('image/png', Buffer.from('m'));
          for (const submit of [
            { path: "'/jobs/' & $media.image_url.base64", body: '1' },
            { path: "'/jobs'", headers: { 'X-Image': 'image_url' }, body: '1' },
          ]) {
            const http: HttpBinding = { ...JOBS, media: { image_url: 'inline' }, submit };
            const { provider, request } = bind(http, { origin, input, media: new Map([['image_url', image]]) });
            await assert.rejects(async () => provider.submit(request, own), { reason: 'model_unavailable' });
          }
          const large = await inputFile('image/png', Buffer.alloc(65 * 1024 * 1024));
          const http: HttpBinding = { ...JOBS, media: { image_url: 'inline' } };
          const { provider, request } = bind(http, { origin, input, media: new Map([['image_url', large]]) });
          await assert.rejects(async () => provider.submit(request, own), { reason: 'input_invalid' });
          assert.deepEqual(requests, []);
        },
      );
    });
  });
});

describe('an upload before the submit', () => {
  const UPLOADED: HttpBinding = {
    ...JOBS,
    media: { image_urls: 'upload' },
    submit: { path: "'/jobs'", body: '{ "images": image_urls, "again": $media.image_urls.reference }' },
    upload: {
      path: "'/files?name=' & $file.name",
      headers: { 'X-Type': '$file.mimeType' },
      reference: 'file.id',
    },
  };

  it('sends the bytes of each file, and the submit its reference', async () => {
    await withScratch(async ({ call: own, inputFile }) => {
      let count = 0;
      await withRecorder(
        ({ url }) => (url.startsWith('/v1/files') ? { file: { id: `file-${++count}` } } : { id: 'job-1' }),
        async ({ origin, requests }) => {
          const media = new Map([
            ['image_urls.0', await inputFile('image/png', Buffer.from('one'))],
            ['image_urls.1', await inputFile('image/jpeg', Buffer.from('two'))],
          ]);
          const { provider, request } = bind(UPLOADED, { origin, input: { image_urls: ['u', 'u'] }, media });

          await provider.submit(request, own);

          assert.deepEqual(
            requests.map(({ method, url, headers, body }) => [
              method,
              url,
              headers['content-type'],
              headers['x-type'],
              headers.authorization,
              body.toString(),
            ]),
            [
              ['POST', '/v1/files?name=image_urls-0.png', 'image/png', 'image/png', 'Bearer the-key', 'one'],
              ['POST', '/v1/files?name=image_urls-1.jpg', 'image/jpeg', 'image/jpeg', 'Bearer the-key', 'two'],
              [
                'POST',
                '/v1/jobs',
                'application/json',
                undefined,
                'Bearer the-key',
                '{"images":["file-1","file-2"],"again":["file-1","file-2"]}',
              ],
            ],
          );
        },
      );
    });
  });

  it('may ask first where to send the file, and sends no credential to another host', async () => {
    await withScratch(async ({ call: own, inputFile }) => {
      await withRecorder(
        ({ body }) => (body.length > 0 ? {} : undefined),
        async (bucket) => {
          const answers = ({ url }: { readonly url: string }) =>
            url === '/v1/uploads'
              ? { uploadUrl: `${bucket.origin}/bucket`, fields: { key: 'k-1', policy: 'p' }, uri: 'provider://k-1' }
              : { id: 'job-1' };
          await withRecorder(answers, async ({ origin, requests }) => {
            const http: HttpBinding = {
              ...UPLOADED,
              hosts: [{ host: new URL(bucket.origin).host }],
              upload: {
                path: "'/uploads'",
                body: '{ "filename": $file.name, "size": $file.byteLength }',
                send: {
                  method: 'POST',
                  url: 'uploadUrl',
                  form: [{ fields: 'fields' }, { name: 'file', isFile: true }],
                },
                reference: 'uri',
              },
            };
            const media = new Map([['image_urls.0', await inputFile('image/png', Buffer.from('one'))]]);
            const { provider, request } = bind(http, { origin, input: { image_urls: ['u'] }, media });

            await provider.submit(request, own);

            assert.equal(requests[0]?.body.toString(), '{"filename":"image_urls-0.png","size":3}');
            const [{ method, url, headers, body } = assert.fail()] = bucket.requests;
            assert.deepEqual([method, url, headers.authorization], ['POST', '/bucket', undefined]);
            assert.deepEqual(await partsOf(headers['content-type'], body), [
              ['key', 'k-1'],
              ['policy', 'p'],
              ['file', 'image_urls-0.png', 'image/png', Buffer.from('one').toString('hex')],
            ]);
            assert.equal(requests[1]?.body.toString(), '{"images":["provider://k-1"],"again":"provider://k-1"}');
          });
        },
      );
    });
  });

  it('that fails is a rejection, because no work was submitted', async () => {
    for (const [status, reason, retryAfterMs] of [
      [413, 'input_invalid', undefined],
      [403, 'model_unavailable', undefined],
      [500, 'provider_unavailable', 5_000],
      [429, 'provider_unavailable', 7_000],
    ] as const) {
      await withScratch(async ({ call: own, inputFile }) => {
        await withRecorder(
          (_, response) => {
            response.writeHead(status, status === 429 ? { 'retry-after': '7' } : {}).end('{}');
            return undefined;
          },
          async ({ origin, requests }) => {
            const media = new Map([['image_urls.0', await inputFile('image/png', Buffer.from('one'))]]);
            const { provider, request } = bind(UPLOADED, { origin, input: { image_urls: ['u'] }, media });

            await assert.rejects(
              async () => provider.submit(request, own),
              (error) =>
                error instanceof ProviderRejection && error.reason === reason && error.retryAfterMs === retryAfterMs,
            );
            assert.equal(requests.length, 1);
          },
        );
      });
    }
  });

  it('never goes to a host that the file does not name', async () => {
    await withScratch(async ({ call: own, inputFile }) => {
      for (const uploadUrl of ['http://169.254.169.254/', 'https://elsewhere.example/', 'ftp://x.example/']) {
        await withRecorder(
          () => ({ uploadUrl }),
          async ({ origin, requests }) => {
            const http: HttpBinding = {
              ...UPLOADED,
              hosts: [{ host: '*.bucket.example' }],
              upload: { path: "'/uploads'", body: '1', send: { url: 'uploadUrl' }, reference: 'uri' },
            };
            const media = new Map([['image_urls.0', await inputFile('image/png', Buffer.from('one'))]]);
            const { provider, request } = bind(http, { origin, input: { image_urls: ['u'] }, media });
            await assert.rejects(async () => provider.submit(request, own), { reason: 'model_unavailable' });
            assert.equal(requests.length, 1);
          },
        );
      }
    });
  });
});

describe('a response that is the file itself', () => {
  const SPEECH: HttpBinding = { submit: { path: "'/speech'", body: '{ "text": prompt }' }, outputs: '$body' };

  it('is written to a file as it arrives', async () => {
    await withScratch(async ({ call: own }) => {
      const bytes = randomBytes(9_000_000);
      await withRecorder(
        (_, response) => {
          response.setHeader('content-type', 'audio/mpeg').end(bytes);
          return undefined;
        },
        async ({ origin, requests }) => {
          const { provider, request } = bind(SPEECH, { origin });
          const submission = await provider.submit(request, own);

          assert.ok(submission.kind === 'done' && submission.files[0]?.from === 'file');
          const digest = (content: Buffer) => createHash('sha256').update(content).digest('hex');
          assert.equal(digest(await readFile(submission.files[0].path)), digest(bytes));
          assert.equal(requests[0]?.headers.accept, '*/*');
        },
      );
    });
  });

  it('is no output when it is empty, and an unknown outcome when it is JSON, HTML or truncated', async () => {
    for (const [answer, expected] of [
      [(response) => response.setHeader('content-type', 'audio/mpeg').end(), { reason: 'no_output' }],
      [(response) => response.setHeader('content-type', 'application/json').end('{}'), { name: 'ProviderUnknown' }],
      [(response) => response.setHeader('content-type', 'text/html').end('<p>'), { name: 'ProviderUnknown' }],
      [
        (response) =>
          response
            .writeHead(200, { 'content-type': 'audio/mpeg', 'content-length': 9 })
            .write('a', () => response.destroy()),
        { name: 'ProviderUnknown' },
      ],
      [
        (response) => response.writeHead(200, { 'content-type': 'audio/mpeg', 'content-length': 1e13 }).write('a'),
        { name: 'ProviderUnknown', code: 'BODY_TOO_LARGE' },
      ],
      [(response) => response.writeHead(422).end('{}'), { name: 'ProviderRejection', reason: 'input_invalid' }],
    ] satisfies readonly (readonly [(response: ServerResponse) => unknown, object])[]) {
      await withScratch(async ({ call: own }) => {
        await withRecorder(
          (_, response) => {
            answer(response);
            return undefined;
          },
          async ({ origin }) => {
            const { provider, request } = bind(SPEECH, { origin });
            await assert.rejects(async () => provider.submit(request, own), expected);
          },
        );
      });
    }
  });

  it('of a finished job is fetched with the credential, at the path that the poll leads to', async () => {
    await withRecorder(
      ({ url }, response) => {
        if (url === '/v1/jobs/job-1') return { state: 'done', file: 'f-9' };
        response.end('the video');
        return undefined;
      },
      async ({ origin, requests }) => {
        const http: HttpBinding = { ...JOBS, result: { path: "'/files/' & file & '/content'" }, outputs: '$body' };
        const { provider, request } = bind(http, { origin });

        const state = await provider.poll(request, 'job-1', call);

        assert.deepEqual(state, { kind: 'done', files: [{ from: 'url', url: `${origin}/v1/files/f-9/content` }] });
        const file = await provider.download?.(request, `${origin}/v1/files/f-9/content`, {
          ...call,
          timeoutMs: 10_000,
          maxBytes: 100,
        });
        assert.equal(file?.from === 'upstream' ? (await buffer(file.body)).toString() : '', 'the video');
        assert.equal(requests.at(-1)?.headers.authorization, 'Bearer the-key');
      },
    );
  });
});

describe('the further hosts of a binding', () => {
  it('are polled where the response says, and get the credential only if they are named for it', async () => {
    for (const receivesCredential of [true, false]) {
      await withRecorder(
        () => ({ state: 'done', files: ['https://cdn.example/1.png'] }),
        async (region) => {
          const host = new URL(region.origin).host;
          await withRecorder(
            () => ({ id: 'job-1', polling_url: `${region.origin}/r/job-1` }),
            async ({ origin }) => {
              const http: HttpBinding = {
                ...JOBS,
                hosts: [{ host, receivesCredential }],
                jobId: "$substringBefore($substringAfter(polling_url, '//'), '/') & ':' & id",
                poll: {
                  path: "'http://' & $substringBefore($jobId, ':job') & '/r/job' & $substringAfter($jobId, ':job')",
                  state: 'state',
                },
              };
              const { provider, request } = bind(http, { origin });
              const submission = await provider.submit(request, call);
              assert.ok(submission.kind === 'job');

              const state = await provider.poll(request, submission.jobId, call);

              assert.equal(state.kind, 'done');
              const [{ url, headers } = assert.fail()] = region.requests;
              assert.equal(url, '/r/job-1');
              assert.equal(headers.authorization, receivesCredential ? 'Bearer the-key' : undefined);
            },
          );
        },
      );
    }
  });

  it('do not include any other host, scheme or user', async () => {
    await withRecorder(
      () => ({}),
      async ({ origin, requests }) => {
        const port = new URL(origin).port;
        for (const url of [
          `http://user@localhost:${port}/x`,
          `https://localhost:${port}/x`,
          `http://localhost:1/x`,
          `http://evil.localhost:${port}/x`,
          `http://localhost.:${port}/x`,
          `http:\\\\localhost:${port}/x`,
          'http://[::1]/x',
        ]) {
          const http: HttpBinding = {
            ...JOBS,
            hosts: [{ host: `localhost:${port}`, receivesCredential: true }],
            poll: { path: `'${url.replaceAll('\\', '\\\\')}'`, state: 'state' },
          };
          const { provider, request } = bind(http, { origin });
          await assert.rejects(
            async () => provider.poll(request, 'job-1', call),
            (error) => error instanceof ProviderUnreachable && error.code === 'NO_PATH',
            url,
          );
        }
        assert.deepEqual(requests, []);
      },
    );
  });
});

describe('how long a provider asks to wait', () => {
  it('is read from the fields of its response that the file names, or that many providers use', async () => {
    for (const [body, headers, waitMs] of [
      [{ again: 12 }, {}, 12_000],
      [{ again: '1.5s' }, {}, 1_500],
      [{ retry_after: 3 }, {}, 3_000],
      [{ error: { details: [{ '@type': 'x' }, { retryDelay: '34s' }] } }, {}, 34_000],
      [{ retry_after: 3 }, { 'retry-after': '4' }, 4_000],
      [{ retry_after: 3 }, { 'retry-after-ms': '250' }, 250],
      [{ again: 1e12 }, {}, 600_000],
      [{ again: -1 }, {}, 5_000],
      [{ again: { deep: true } }, {}, 5_000],
      [{}, {}, 5_000],
    ] as const) {
      await withRecorder(
        (_, response) => {
          response.writeHead(429, headers).end(JSON.stringify(body));
          return undefined;
        },
        async ({ origin }) => {
          const http: HttpBinding = {
            ...JOBS,
            submit: { ...JOBS.submit, retryAfter: 'again' },
            poll: { path: "'/jobs/' & $jobId", state: 'state', retryAfter: 'again' },
          };
          const { provider, request } = bind(http, { origin });
          await assert.rejects(
            async () => provider.submit(request, call),
            (error) => error instanceof ProviderRejection && error.retryAfterMs === waitMs,
            JSON.stringify([body, headers]),
          );
          await assert.rejects(
            async () => provider.poll(request, 'job-1', call),
            (error) => error instanceof ProviderUnreachable && (error.retryAfterMs ?? 5_000) === waitMs,
          );
        },
      );
    }
  });
});

describe('a submit that sends the address to call back', () => {
  it('sends the address and the secret of the task, and neither where the provider cannot call back', async () => {
    const http: HttpBinding = {
      ...JOBS,
      ...CALLED,
      hook: { verify: { scheme: 'hmac-sha256', header: 'x-signature' } },
    };
    await withRecorder(
      () => ({ id: 'job-1' }),
      async ({ origin, requests }) => {
        const { provider, request } = bind(http, { origin });
        const hook = { hookUrl: 'https://api.example.com/hooks/acme/token', hookSecret: 'of the task' };
        await withScratch(async ({ call }) => {
          await provider.submit(request, { ...call, ...hook });
          await provider.submit(request, call);
        });
        assert.deepEqual(
          requests.map(({ body }) => JSON.parse(body.toString()) as unknown),
          [{ url: hook.hookUrl, secret: hook.hookSecret }, {}],
        );
      },
    );
  });
});

/** A submit that sends both. */
const CALLED: Pick<HttpBinding, 'submit'> = {
  submit: { path: "'/x'", body: '{ "url": $hookUrl, "secret": $hookSecret }' },
};

describe('a failed job', () => {
  it('is not billed if `unbilled` gives true, and nothing else, of the poll or of the result', async () => {
    const http: HttpBinding = { ...JOBS, reason: 'reason', unbilled: 'charge = 0 ? true : charge' };
    const withResult: HttpBinding = { ...http, result: { path: "'/result'" } };
    for (const [charge, isUnbilled] of [
      [0, true],
      [0.004, false],
      ['true', false],
      [undefined, false],
    ] as const) {
      await withRecorder(
        ({ url }, response) => {
          if (url !== '/v1/result')
            return { state: url.includes('done') ? 'done' : 'failed', reason: 'no_output', charge };
          response.statusCode = 422;
          return { reason: 'no_output', charge };
        },
        async ({ origin }) => {
          for (const [binding, jobId] of [
            [http, 'failed'],
            [withResult, 'done'],
          ] as const) {
            const { provider, request } = bind(binding, { origin });
            await assert.rejects(
              async () => provider.poll(request, jobId, { signal: AbortSignal.timeout(10_000) }),
              (error) => error instanceof ProviderFailure && error.isUnbilled === isUnbilled,
              JSON.stringify([charge, jobId]),
            );
          }
        },
      );
    }
  });
});

describe('a binding that cannot work', () => {
  it('is rejected with the position of the fault', () => {
    const cases: readonly (readonly [Partial<HttpBinding>, RegExp])[] = [
      [{ submit: { path: "'/x'" } }, /^submit: it needs either body or form/],
      [{ submit: { path: "'/x'", body: '1', form: [{ name: 'a', value: '1' }] } }, /^submit: it needs either/],
      [{ submit: { path: "'/x'", form: [{ name: 'a' }] } }, /^submit\.form\.0\.value/],
      [{ submit: { path: "'/x'", form: [{ value: '1' }] } }, /^submit\.form\.0\.name: missing/],
      [{ submit: { path: "'/x'", form: [{ name: 'a', isFile: true }] } }, /^submit\.form\.0\.isFile/],
      [{ submit: { path: "'/x'", form: [{ name: 'a', value: '(' }] } }, /^submit\.form\.0\.value: not JSONata/],
      [{ submit: { path: "'/x'", form: [{ fields: '$eval("1")' }] } }, /^submit\.form\.0\.fields: \$eval/],
      [{ submit: { path: "'/x'", body: '1', headers: { Cookie: '1' } } }, /^submit\.headers\.Cookie: Cookie is not/],
      [{ media: { image: 'upload' } }, /^media\.image: there is no upload/],
      [{ upload: { path: "'/f'", reference: 'id' } }, /^upload: no field/],
      [
        { media: { image: 'upload' }, upload: { path: "'/f'", reference: 'id', body: '1' } },
        /^upload\.send: it and body need one another/,
      ],
      [
        { media: { image: 'upload' }, upload: { path: "'/f'", reference: 'id', form: [{ name: 'a', value: '1' }] } },
        /^upload\.form: it needs one part with isFile/,
      ],
      [
        { media: { image: 'inline' }, submit: { path: "'/x'", form: [{ name: 'a', value: '1' }] } },
        /^media\.image: in a form/,
      ],
      [{ outputs: '$body' }, /^outputs: \$body/],
      [{ auth: { scheme: 'header' } }, /^auth\.name: scheme header needs it/],
      [{ auth: { scheme: 'sigv4', region: 'r' } }, /^auth\.service: scheme sigv4 needs it/],
      [{ auth: { scheme: 'oauth2-client' } }, /^auth\.tokenUrl/],
      [{ auth: { scheme: 'basic', prefix: 'x' } }, /^auth\.prefix: scheme basic does not use it/],
      [
        {
          auth: { scheme: 'sigv4', region: 'r', service: 's' },
          submit: { path: "'/x'", form: [{ name: 'a', value: '1' }] },
        },
        /^submit\.form: scheme sigv4/,
      ],
      [{ hook: { challenge: { member: 'x' } } }, /^hook: no expression of submit sends \$hookUrl/],
      [{ hook: { verify: { scheme: 'standard-webhooks' } }, ...CALLED }, /^hook\.verify\.secret: scheme standard-w/],
      [{ hook: { verify: { scheme: 'hmac-sha256', secret: 's' } }, ...CALLED }, /^hook\.verify\.header: scheme hmac/],
      [
        { hook: { verify: { scheme: 'fal-ed25519', secret: 's' } }, ...CALLED },
        /^hook\.verify\.secret: scheme fal-ed25519 d/,
      ],
      [
        { hook: { verify: { scheme: 'hmac-sha256', header: 'x' } }, submit: { path: "'/x'", body: '$hookUrl' } },
        /^hook\.verify\.secret: missing, and no expression/,
      ],
      [CALLED, /^submit: \$hookSecret is for scheme hmac-sha256/],
      [
        { hook: { verify: { scheme: 'hmac-sha256', header: 'x', secret: 's' } }, ...CALLED },
        /^submit: \$hookSecret is for scheme hmac-sha256/,
      ],
    ];
    for (const [changes, problem] of cases)
      assert.match(findBindingProblems({ ...JOBS, ...changes })[0] ?? '', problem);
    const { submit, outputs } = JOBS;
    assert.match(
      findBindingProblems({ submit, outputs, unbilled: 'true' })[0] ?? '',
      /^jobId: missing; result, cancel and/,
    );
  });
});
