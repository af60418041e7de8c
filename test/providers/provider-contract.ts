/**
 * What every adapter of an HTTP provider promises, run against the test provider: a process of its own, whose log
 * shows what really arrived. The rest of the program relies on the difference between the kinds of error, so each
 * case checks the kind, and every error and log line is searched for what it must never contain.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { EgressError } from '../../src/egress/egress-error.ts';
import { ProviderFailure, ProviderRejection, ProviderUnknown } from '../../src/providers/provider.ts';
import type { UpstreamBinding } from '../../src/providers/provider.ts';
import { createContractRig, MARK } from './contract-bench.ts';
import type { ContractBench, ContractSubject } from './contract-bench.ts';
import { describeJobs } from './job-contract.ts';
import { submitCall } from './submit-call.ts';
import { freePort, withSilentServer } from './unreachable-servers.ts';

const call = submitCall();

/** Runs the suite for one adapter; `more` adds the tests that only its protocol needs. */
export function describeProviderContract(subject: ContractSubject, more?: (bench: ContractBench) => void): void {
  describe(titleOf(subject), () => {
    const rig = createContractRig(subject);
    const { bench, far, generate, rejectionOf, countOf, bytesOf, inputOf, fileOf } = rig;
    const { provider, request, caught, linesOf } = bench;

    before(() => rig.start());
    afterEach(() => rig.checkLog());
    after(() => rig.stop());

    it('delivers the image of the prompt, for one submit', async () => {
      const work = request('a red house');

      const files = await generate(work);

      assert.equal(files.length, 1);
      assert.deepEqual(await bytesOf(work, files[0]), await fileOf(`a red house, ${MARK}`));
      assert.equal(await countOf('a red house', 'submit'), 1);
    });

    it("sends the upstream's parameters over the caller's fields", async () => {
      const work = request('what the caller said', { parameters: inputOf(`what the operator said, ${MARK}`) });

      await generate(work);

      assert.equal(await countOf('what the operator said', 'submit'), 1);
      assert.equal(await countOf('what the caller said', 'submit'), 0);
    });

    it('reports a temporary rejection, for as long as the provider requests, when it returns 429 or 503', async () => {
      for (const prompt of ['busy [reject 429]', 'busy [reject 503]']) {
        const rejection = await rejectionOf(request(prompt));

        assert.equal(rejection.reason, 'provider_unavailable');
        assert.equal(rejection.retryAfterMs, 7_000);
        assert.equal(await countOf(prompt, 'submit'), 0);
      }
    });

    it('succeeds on the second attempt when the first submit was rejected', async () => {
      const work = request('second [reject-first 1]');
      await rejectionOf(work);

      const files = await generate(work);

      assert.equal(files.length, 1);
      assert.equal(await countOf('second [reject-first 1]', 'submit'), 1);
    });

    it('reports a permanent rejection when the provider reports the input as invalid', async () => {
      for (const prompt of ['bad [reject 400]', 'bad [reject 422]', 'bad [reject 413]']) {
        const rejection = await rejectionOf(request(prompt));

        assert.equal(rejection.reason, 'input_invalid');
        assert.equal(rejection.retryAfterMs, undefined);
      }
    });

    it('reports rejected content when the provider does so in its own words', async () => {
      const error = await caught(generate(request('naughty [content]')));

      assert.ok(error instanceof ProviderRejection || error instanceof ProviderFailure);
      assert.equal(error.reason, 'content_rejected');
    });

    it('reports an unknown outcome when the connection breaks after sending', async () => {
      const error = await caught(generate(request('cut [drop]')));

      assert.ok(error instanceof ProviderUnknown);
      assert.equal(await countOf('cut [drop]', 'submit'), 1);
    });

    it('reports an unknown outcome when the response is HTML, or 500, 408, 409', async () => {
      const unclear = [408, 409].filter((status) => subject.rejectsWith?.includes(status) !== true);
      const rejections = unclear.map((status) => `odd [reject ${status}]`);
      for (const prompt of ['odd [html]', 'odd [500]', 'odd [reject 500]', ...rejections]) {
        const error = await caught(generate(request(prompt)));

        assert.ok(error instanceof ProviderUnknown, `${prompt}: ${inspect(error)}`);
      }
    });

    it('reports an unknown outcome when the response is too large', async () => {
      const error = await caught(generate(request('much [huge response]')));

      assert.ok(error instanceof ProviderUnknown);
      assert.equal(error.code, 'BODY_TOO_LARGE');
    });

    it('treats a response whose fields are of other types as no result', async () => {
      const error = await caught(generate(request('strange [odd types]')));

      const isClear = error instanceof ProviderFailure && error.reason === 'no_output';
      assert.ok(error instanceof ProviderUnknown || isClear, inspect(error));
    });

    it('declares whether its submit may be repeated, and repeats it under the id of the task', async () => {
      assert.equal(provider.isSubmitRepeatable, subject.isRepeatable === true);
      if (!provider.isSubmitRepeatable) return;
      const work = request('again and again [drop]');
      assert.ok((await caught(provider.submit(work, call))) instanceof ProviderUnknown);
      await caught(provider.submit(work, call).then(() => Promise.reject(new Error('it came back'))));

      const lines = (await linesOf('again and again [drop]')).filter(({ kind }) => ['submit', 'replay'].includes(kind));
      assert.ok(lines.length >= 2);
      assert.deepEqual(new Set(lines.map(({ idempotencyKey }) => idempotencyKey)), new Set([work.taskId]));
    });

    it('passes on its callback URL, if it supports callbacks', async () => {
      if (provider.callsBack !== true) return;
      const hookUrl = `http://127.0.0.1:${await freePort()}/hooks/here?and=there`;

      await provider.submit(request('called back'), submitCall({ hookUrl }));

      await bench.waitForLogged('called back', 'hook');
    });

    it('reports a missing file when the upstream names it and does not have it', async () => {
      const work = request('missing [404 file]');
      const [file] = await generate(work);
      if (file?.from !== 'url' || provider.download === undefined) return;

      const error = await caught(provider.download(work, file.url, { ...call, timeoutMs: 60_000, maxBytes: 1_000 }));

      assert.ok(error instanceof EgressError);
      assert.equal(error.status, 404);
    });

    it('reports an unknown outcome when the response takes too long', async () => {
      const work = request('tired [delay-submit 600000]');

      const error = await caught(bench.impatient.submit(work, call));

      assert.ok(error instanceof ProviderUnknown);
      assert.equal(error.code, 'TIMEOUT');
    });

    it('reports a temporary rejection when the connection is refused', async () => {
      const rejection = await rejectionOf(request('alone', { baseUrl: `http://127.0.0.1:${await freePort()}/v1` }));

      assert.equal(rejection.reason, 'provider_unavailable');
      assert.ok((rejection.retryAfterMs ?? 0) > 0);
    });

    it('reports that nothing was sent when it is aborted while connecting', async () => {
      await withSilentServer(async (port, connected) => {
        const stop = new AbortController();
        const work = provider.submit(
          request('slow door', { baseUrl: `https://127.0.0.1:${port}/v1` }),
          submitCall({ signal: stop.signal }),
        );
        await connected;
        stop.abort(new Error('stopped'));

        const error = await caught(work);

        assert.ok(error instanceof ProviderRejection);
        assert.equal(error.retryAfterMs, 0);
      });
    });

    it('stops immediately, with the reason of the signal, when it is aborted while waiting for the response', async () => {
      const stop = new AbortController();
      const work = provider.submit(request('endless [delay-submit 600000]'), submitCall({ signal: stop.signal }));
      await bench.waitForLogged('endless [delay-submit 600000]', 'submit');
      const reason = new Error('stopped');
      stop.abort(reason);

      assert.equal(await caught(work), reason);
    });

    it('reports a permanent rejection, and notifies the operator, when a credential is missing or revoked or a model unknown', async () => {
      const before = (await far().readLog()).filter((line) => line.kind === 'submit').length;
      const cases: Partial<UpstreamBinding>[] = [
        { secret: 'nowhere' },
        { secret: 'revoked' },
        ...(subject.ignoresModel === true ? [] : [{ model: 'missing-model' }]),
        { baseUrl: 'not an address' },
        { baseUrl: `${far().url}/nothing-here/v1` },
      ];
      for (const upstream of cases) {
        rig.checkLog();
        const rejection = await rejectionOf(request('whoever', upstream));

        assert.equal(rejection.reason, 'model_unavailable', inspect(upstream));
        assert.equal(rejection.retryAfterMs, undefined);
        assert.equal(rig.errorsLogged(), 1);
      }
      assert.equal((await far().readLog()).filter((line) => line.kind === 'submit').length, before);
    });

    it('fails with no_output when the provider is done and returned nothing', async () => {
      if (subject.alwaysNamesFile === true) return;
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

function titleOf({ protocol, binding }: ContractSubject): string {
  if (binding?.http !== undefined) return `the http adapter, described for ${protocol}`;
  return binding?.api === undefined ? `the ${protocol} adapter` : `the ${protocol} adapter (${binding.api})`;
}
