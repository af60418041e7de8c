/**
 * Responses that no provider should give, to every adapter: work that was sent is sent once, nothing goes to another
 * address, and the log has the name of the upstream and nothing that the provider wrote. The job API of model files
 * has more of them (http/hostile-answers.test.ts).
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createCogProvider } from '../../src/providers/cog/cog-provider.ts';
import { createHttpProvider } from '../../src/providers/http/http-provider.ts';
import { createOpenAiProvider } from '../../src/providers/openai/openai-provider.ts';
import type { GenerationRequest, Provider } from '../../src/providers/provider.ts';
import { createReplicateProvider } from '../../src/providers/replicate/replicate-provider.ts';
import { createTasksProvider } from '../../src/providers/tasks/tasks-provider.ts';
import type { HttpProviderDeps } from '../../src/providers/upstream-calls.ts';
import { createSecretSource } from '../../src/upstreams/secrets.ts';
import { JOBS, withRecorder, withScratch } from './http/recorder.ts';
import type { Answers } from './http/recorder.ts';
import { createLogLines } from './log-lines.ts';
import type { LogLine } from './log-lines.ts';

const KEY = 'key-that-must-stay-secret';
const MARK = 'words of a stranger';

interface Adapter {
  readonly name: string;
  readonly create: (deps: HttpProviderDeps) => Provider;
  readonly binding?: object;
  /** The response to a submit that takes the work as a job of this id; undefined: there are no jobs. */
  readonly taking?: (id: unknown) => object;
  /** The response that says that the work is done, with these outputs; undefined: none names them. */
  readonly done?: (outputs: unknown) => object;
}

const ADAPTERS: readonly Adapter[] = [
  {
    name: 'http',
    create: createHttpProvider,
    binding: { http: JOBS },
    taking: (id) => ({ id }),
    done: (files) => ({ state: 'done', files }),
  },
  { name: 'openai images', create: createOpenAiProvider, binding: { api: 'images' }, done: (data) => ({ data }) },
  {
    name: 'replicate',
    create: createReplicateProvider,
    taking: (id) => ({ id }),
    done: (output) => ({ status: 'succeeded', output }),
  },
  { name: 'cog', create: createCogProvider, done: (output) => ({ status: 'succeeded', output }) },
  {
    name: 'tasks',
    create: createTasksProvider,
    taking: (taskId) => ({ data: { taskId } }),
    done: (output) => ({ data: { status: 'success', output } }),
  },
  {
    name: 'openai videos',
    create: createOpenAiProvider,
    binding: { api: 'videos' },
    taking: (id) => ({ id }),
  },
  { name: 'openai speech', create: createOpenAiProvider, binding: { api: 'speech' } },
];

interface Ran {
  readonly outcome: Readonly<Record<string, unknown>>;
  readonly lines: readonly LogLine[];
  readonly requests: number;
}

/** What a call of an adapter comes to. */
async function run(
  { name, create, binding = {} }: Adapter,
  answers: Answers,
  work: (provider: Provider, request: GenerationRequest, scratch: Parameters<Provider['submit']>[1]) => Promise<object>,
): Promise<Ran> {
  const { logger, lines } = createLogLines();
  let outcome: Ran['outcome'] = {};
  let sent = 0;
  await withScratch(async ({ call }) => {
    await withRecorder(answers, async ({ origin, requests }) => {
      const [protocol = ''] = name.split(' ');
      const upstream = {
        id: 'acme',
        protocol,
        baseUrl: `${origin}/v1`,
        secret: 'main',
        model: 'owner/model',
        ...binding,
      };
      const unbound = create({ secrets: createSecretSource({ MAIN: KEY }), logger });
      const provider = unbound.boundTo?.(upstream, 'image') ?? unbound;
      const request = { taskId: 'tk-svc-00000000000000000000000001', upstream, input: { prompt: 'a boat' } } as const;
      outcome = await work(provider, request, call).then(
        (result) => ({ ...result }),
        (error: Error & Record<string, unknown>) => {
          assert.doesNotMatch(error.message, new RegExp(`${MARK}|${KEY}`));
          return { name: error.name, reason: error['reason'], code: error['code'], status: error['status'] };
        },
      );
      sent = requests.length;
    });
  });
  assert.doesNotMatch(JSON.stringify(lines), new RegExp(`${MARK}|${KEY}|a boat`), name);
  for (const line of lines) assert.equal(line['upstream'], 'acme', name);
  return { outcome, lines, requests: sent };
}

const submitting = (provider: Provider, request: GenerationRequest, call: Parameters<Provider['submit']>[1]) =>
  provider.submit(request, call);

const sending =
  (status: number, body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Answers =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
    return undefined;
  };

const UNREADABLE: readonly (readonly [string, Answers, string])[] = [
  ['a page', sending(200, `<p>${MARK}`, { 'content-type': 'text/html' }), 'NOT_JSON'],
  ['truncated JSON', sending(200, `{"id":"${MARK}`), 'NOT_JSON'],
  ['deep JSON', sending(200, '['.repeat(100_000)), 'JSON_TOO_LARGE'],
  ['gzip', sending(200, gzipSync('{"id":"a"}'), { 'content-encoding': 'gzip' }), 'ENCODED'],
  ['no content', sending(204, ''), 'EMPTY'],
  ['a redirect', sending(302, '', { location: 'http://169.254.169.254/' }), 'REDIRECTED'],
];

for (const adapter of ADAPTERS) {
  describe(`the adapter ${adapter.name}`, () => {
    it('sends work once whose response cannot be read, and says why that is', async () => {
      for (const [what, answers, code] of UNREADABLE) {
        const { outcome, lines, requests } = await run(adapter, answers, submitting);

        assert.deepEqual([outcome['name'], requests], ['ProviderUnknown', 1], what);
        assert.deepEqual(
          lines.map((line) => line['code']),
          [code],
          what,
        );
      }
    });

    const { taking, done } = adapter;
    if (taking !== undefined)
      it('takes no id of a job that could be part of an address', async () => {
        for (const id of ['../admin', 'a/b', 'a?b', 'a#b', '', 'a\r\nb', 'x'.repeat(10_000), null, {}, []]) {
          const { outcome, requests } = await run(adapter, () => taking?.(id), submitting);

          assert.deepEqual(
            [outcome['name'], outcome['code'], requests],
            ['ProviderUnknown', 'NO_JOB_ID', 1],
            JSON.stringify(id),
          );
        }
      });

    if (done !== undefined)
      it('finds no files in outputs that are none', async () => {
        const poll = (provider: Provider, request: GenerationRequest, call: Parameters<Provider['submit']>[1]) =>
          taking === undefined ? provider.submit(request, call) : provider.poll(request, 'job-1', call);
        for (const outputs of [
          undefined,
          null,
          7,
          '',
          MARK,
          [],
          ['file:///etc/passwd'],
          [{ url: 'javascript:1' }],
          [{ b64_json: '' }],
          { __proto__: null },
        ]) {
          const { outcome } = await run(adapter, () => done?.(outputs), poll);

          assert.deepEqual(
            [outcome['name'], outcome['reason']],
            ['ProviderFailure', 'no_output'],
            JSON.stringify(outputs),
          );
        }
      });
  });
}
