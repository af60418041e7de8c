/**
 * What every adapter of an HTTP provider promises, run against the test provider: a process of its own, whose log says
 * what really arrived. The rest of the program relies on the difference between the kinds of error, so each case
 * checks the kind, and every error and log line is searched for what must never stand there.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { pino } from 'pino';
import { newTaskId } from '../../src/domain/ids.ts';
import { ProviderUnknown } from '../../src/providers/provider-unknown.ts';
import { ProviderFailure, ProviderRefusal } from '../../src/providers/provider.ts';
import type { GenerationRequest, ProducedFile, Provider, UpstreamBinding } from '../../src/providers/provider.ts';
import type { HttpProviderDeps } from '../../src/providers/upstream-calls.ts';
import { createSecretSource } from '../../src/upstreams/secrets.ts';
import type { LogLine } from '../support/test-provider/log.ts';
import { drawPicture } from '../support/test-provider/picture.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';
import { until } from '../support/until.ts';
import { describeJobs } from './job-contract.ts';
import { freePort, withSilentServer } from './unreachable-places.ts';

/** One adapter, and what its protocol can and cannot do. */
export interface ContractSubject {
  readonly protocol: 'openai' | 'replicate' | 'tasks';
  readonly create: (deps: HttpProviderDeps) => Provider;
  /** Whether submitting brings the files, so that there is no job to ask about. */
  readonly isSynchronous: boolean;
}

/** What a test works with; the adapter's own tests use it too. */
export interface ContractBench {
  readonly provider: Provider;
  /** The same adapter, with a time-out of one second. */
  readonly impatient: Provider;
  request(prompt: string, upstream?: Partial<UpstreamBinding>): GenerationRequest;
  /** The lines about one prompt. */
  linesOf(prompt: string): Promise<readonly LogLine[]>;
  /** Runs something that must fail, and gives the error, searched for what must not be in it. */
  caught(work: Promise<unknown>): Promise<unknown>;
  /** Waits until the provider logged something of a prompt. */
  untilLogged(prompt: string, kind: LogLine['kind']): Promise<void>;
}

const KEY = 'key-that-must-stay-secret';
const MARK = 'words of a private prompt';
const PROVIDER_TEXTS = ['nobody may pass on', 'not to be passed on', 'CUDA out of memory'];
/** Something waits for ever only if the code is wrong; this ends the wait. */
const PATIENCE = { timeout: 180_000 };

const never = new AbortController().signal;
const call = { signal: never };

/** Runs the suite for one adapter; `more` adds the tests that only its protocol needs. */
export function describeProviderContract(subject: ContractSubject, more?: (bench: ContractBench) => void): void {
  describe(`the ${subject.protocol} adapter`, PATIENCE, () => {
    let far: TestProvider;
    let logged: string[] = [];
    const logger = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
    const secrets = createSecretSource({ MAIN: KEY, REVOKED: 'revoked-key' });
    const bench: ContractBench = {
      provider: subject.create({ secrets, logger }),
      impatient: subject.create({ secrets, logger, timeoutMs: 1_000 }),
      request: (prompt, upstream = {}) => ({
        taskId: newTaskId(),
        upstream: {
          protocol: subject.protocol,
          baseUrl: `${far.url}/${subject.protocol}/v1`,
          secret: 'main',
          model: 'test/picture',
          ...upstream,
        },
        input: { prompt: `${prompt}, ${MARK}` },
      }),
      async linesOf(prompt) {
        return (await far.readLog()).filter((line) => line.prompt?.startsWith(`${prompt}, `));
      },
      async caught(work) {
        const error = await work.then(
          () => assert.fail('it should have failed'),
          (reason: unknown) => reason,
        );
        const text = inspect(error, { depth: 10 });
        for (const secret of [KEY, MARK, ...PROVIDER_TEXTS, new URL(far.url).host]) {
          assert.ok(!text.includes(secret), `an error holds "${secret}": ${text}`);
        }
        return error;
      },
      untilLogged: (prompt, kind) =>
        until(`the provider logs ${kind}`, async () =>
          (await bench.linesOf(prompt)).some((line) => line.kind === kind),
        ),
    };
    const { provider, request, caught, linesOf } = bench;

    const countOf = async (prompt: string, kind: LogLine['kind']): Promise<number> =>
      (await linesOf(prompt)).filter((line) => line.kind === kind).length;

    /** Submits and waits for the end, as the activities do. */
    const generate = async (work: GenerationRequest): Promise<readonly ProducedFile[]> => {
      const submission = await provider.submit(work, call);
      if (submission.kind === 'done') return submission.files;
      let files: readonly ProducedFile[] = [];
      await until('the job is done', async () => {
        const state = await provider.poll(work, submission.jobId, call);
        if (state.kind === 'done') ({ files } = state);
        return state.kind === 'done';
      });
      return files;
    };

    const refused = async (work: GenerationRequest): Promise<ProviderRefusal> => {
      const error = await caught(generate(work));
      assert.ok(error instanceof ProviderRefusal, `not a refusal: ${inspect(error)}`);
      return error;
    };

    before(async () => {
      far = await startTestProvider();
    });
    afterEach(() => {
      for (const line of logged) {
        for (const secret of [KEY, MARK, ...PROVIDER_TEXTS]) assert.ok(!line.includes(secret), `logged: ${line}`);
      }
      logged = [];
    });
    after(() => far.stop());

    it('delivers the picture of the prompt, for one submit', async () => {
      const work = request('a red house');

      const files = await generate(work);

      assert.equal(files.length, 1);
      assert.deepEqual(await bytesOf(files[0]), await drawPicture(`a red house, ${MARK}`));
      assert.equal(await countOf('a red house', 'submit'), 1);
    });

    it("sends the upstream's parameters over the caller's fields", async () => {
      const work = request('what the caller said', { parameters: { prompt: `what the operator said, ${MARK}` } });

      await generate(work);

      assert.equal(await countOf('what the operator said', 'submit'), 1);
      assert.equal(await countOf('what the caller said', 'submit'), 0);
    });

    it('refuses for a while, for as long as the provider asks, when the provider answers 429 or 503', async () => {
      for (const prompt of ['busy [refuse 429]', 'busy [refuse 503]']) {
        const refusal = await refused(request(prompt));

        assert.equal(refusal.reason, 'provider_unavailable');
        assert.equal(refusal.retryAfterMs, 7_000);
        assert.equal(await countOf(prompt, 'submit'), 0);
      }
    });

    it('delivers on the second try when the first submit was refused', async () => {
      const work = request('second [refuse-first 1]');
      await refused(work);

      const files = await generate(work);

      assert.equal(files.length, 1);
      assert.equal(await countOf('second [refuse-first 1]', 'submit'), 1);
    });

    it('refuses for good when the provider calls the input invalid', async () => {
      for (const prompt of ['bad [refuse 400]', 'bad [refuse 422]', 'bad [refuse 413]']) {
        const refusal = await refused(request(prompt));

        assert.equal(refusal.reason, 'input_invalid');
        assert.equal(refusal.retryAfterMs, undefined);
      }
    });

    it('says that content was rejected when the provider says so in its own words', async () => {
      const error = await caught(generate(request('naughty [content]')));

      assert.ok(error instanceof ProviderRefusal || error instanceof ProviderFailure);
      assert.equal(error.reason, 'content_rejected');
    });

    it('does not know what became of the work when the connection is cut after sending', async () => {
      const error = await caught(generate(request('cut [drop]')));

      assert.ok(error instanceof ProviderUnknown);
      assert.equal(await countOf('cut [drop]', 'submit'), 1);
    });

    it('does not know what became of the work when the answer is a page, or 500, 408, 409', async () => {
      for (const prompt of ['odd [html]', 'odd [500]', 'odd [refuse 500]', 'odd [refuse 408]', 'odd [refuse 409]']) {
        const error = await caught(generate(request(prompt)));

        assert.ok(error instanceof ProviderUnknown, `${prompt}: ${inspect(error)}`);
      }
    });

    it('does not know what became of the work when the answer takes too long', async () => {
      const work = request('tired [delay-submit 600000]');

      const error = await caught(bench.impatient.submit(work, call));

      assert.ok(error instanceof ProviderUnknown);
      assert.equal(error.code, 'TIMEOUT');
    });

    it('refuses for a while when nobody listens at the address', async () => {
      const refusal = await refused(request('alone', { baseUrl: `http://127.0.0.1:${await freePort()}/v1` }));

      assert.equal(refusal.reason, 'provider_unavailable');
      assert.ok((refusal.retryAfterMs ?? 0) > 0);
    });

    it('knows that nothing was sent when it is stopped while connecting', async () => {
      await withSilentServer(async (port, connected) => {
        const stop = new AbortController();
        const work = provider.submit(request('slow door', { baseUrl: `https://127.0.0.1:${port}/v1` }), stop);
        await connected;
        stop.abort(new Error('stopped'));

        const error = await caught(work);

        assert.ok(error instanceof ProviderRefusal);
        assert.equal(error.retryAfterMs, 0);
      });
    });

    it('stops at once, with the reason of the signal, when it is stopped while waiting for the answer', async () => {
      const stop = new AbortController();
      const work = provider.submit(request('endless [delay-submit 600000]'), stop);
      await bench.untilLogged('endless [delay-submit 600000]', 'submit');
      const reason = new Error('stopped');
      stop.abort(reason);

      assert.equal(await caught(work), reason);
    });

    it('refuses for good, and tells the operator, when a credential is missing or revoked or a model unknown', async () => {
      const before = (await far.readLog()).filter((line) => line.kind === 'submit').length;
      const cases: Partial<UpstreamBinding>[] = [
        { secret: 'nowhere' },
        { secret: 'revoked' },
        { model: 'missing-model' },
        { baseUrl: 'not an address' },
        { baseUrl: `${far.url}/nothing-here/v1` },
      ];
      for (const upstream of cases) {
        logged = [];
        const refusal = await refused(request('whoever', upstream));

        assert.equal(refusal.reason, 'model_unavailable', inspect(upstream));
        assert.equal(refusal.retryAfterMs, undefined);
        assert.equal(logged.filter((line) => (JSON.parse(line) as { level: number }).level >= 50).length, 1);
      }
      assert.equal((await far.readLog()).filter((line) => line.kind === 'submit').length, before);
    });

    it('fails with no_output when the provider is done and brought nothing', async () => {
      const error = await caught(generate(request('void [no output]')));

      assert.ok(error instanceof ProviderFailure);
      assert.equal(error.reason, 'no_output');
    });

    if (subject.isSynchronous) {
      it('has no job to cancel', async () => {
        assert.equal((await provider.cancel(request('nothing'), 'job', call)).outcome, 'unsupported');
      });
    } else {
      describeJobs(bench);
    }
    more?.(bench);
  });
}

async function bytesOf(file: ProducedFile | undefined): Promise<Buffer> {
  assert.ok(file !== undefined && file.from !== 'file');
  if (file.from === 'bytes') return Buffer.from(file.bytes);
  const response = await fetch(file.url);
  assert.equal(response.status, 200);
  return Buffer.from(await response.arrayBuffer());
}
