/** What a model file reads of an answer about the consumption of work: `usage` and `cost` of the `http` binding. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HttpBinding } from '../../../src/providers/http/binding.ts';
import { findBindingProblems } from '../../../src/providers/http/validate-binding.ts';
import { ProviderFailure, ProviderUnknown } from '../../../src/providers/provider.ts';
import type { ProviderCall } from '../../../src/providers/provider.ts';
import { JOBS, bind, withRecorder, withScratch } from './recorder.ts';

const FILE = 'https://files.example.com/one.png';
const call: ProviderCall = { signal: new AbortController().signal };
const SYNCHRONOUS: HttpBinding = {
  submit: { path: "'/images'", body: '{ "say": prompt }' },
  outputs: 'files',
  usage: 'usage.{ "outputTokens": out, "credits": credits }',
  cost: 'usd',
};

/** The consumption of a submit that is answered like this. */
async function consumed(answer: Readonly<Record<string, unknown>>, http = SYNCHRONOUS): Promise<unknown> {
  let result: unknown;
  await withRecorder(
    () => ({ files: FILE, ...answer }),
    ({ origin }) =>
      withScratch(async (scratch) => {
        const { provider, request } = bind(http, { origin });
        const { files, ...rest } = { files: [], ...(await provider.submit(request, scratch.call)) };
        assert.equal(files.length, 1);
        result = rest;
      }),
  );
  return result;
}

describe('usage and cost of a submit without jobs', () => {
  it('are read from its response', async () => {
    assert.deepEqual(await consumed({ usd: '0.0321', usage: { out: 272, credits: 1.5 } }), {
      kind: 'done',
      usage: { outputTokens: 272, credits: 1.5 },
      costMicroUsd: 32_100n,
    });
    assert.deepEqual(await consumed({ usd: 0, usage: { out: 0 } }), {
      kind: 'done',
      usage: { outputTokens: 0 },
      costMicroUsd: 0n,
    });
  });

  it('are rounded up to the micro', async () => {
    assert.deepEqual(await consumed({ usd: 0.000_000_5 }), { kind: 'done', costMicroUsd: 1n });
  });

  it('are absent if the response has none', async () => {
    assert.deepEqual(await consumed({}), { kind: 'done' });
  });

  it('count as not reported if they are negative, absurd, or no numbers', async () => {
    for (const usd of [-0.01, '-1', '-0', '1e3', 'abc', '', 'NaN', 'Infinity', 1e300, '100000.000001', true, [1], {}]) {
      assert.deepEqual(await consumed({ usd }), { kind: 'done' }, JSON.stringify(usd));
    }
    assert.deepEqual(await consumed({ usd: '100000' }), { kind: 'done', costMicroUsd: 100_000_000_000n });
    for (const usage of [{ out: -1 }, { out: 'many' }, { out: 2e12 }, { credits: true }]) {
      assert.deepEqual(await consumed({ usage }), { kind: 'done' }, JSON.stringify(usage));
    }
  });

  it('count as not reported if an expression fails or names something else, and the outputs still count', async () => {
    assert.deepEqual(await consumed({}, { ...SYNCHRONOUS, cost: '$error("no")' }), { kind: 'done' });
    assert.deepEqual(await consumed({ used: { dollars: 1 } }, { ...SYNCHRONOUS, usage: 'used' }), { kind: 'done' });
    assert.deepEqual(await consumed({}, { ...SYNCHRONOUS, usage: '[1]' }), { kind: 'done' });
  });
});

describe('usage and cost of a job', () => {
  const polled = { ...JOBS, cost: 'usd', reason: 'reason' };
  const withResult = { ...polled, result: { path: "'/jobs/' & $jobId & '/result'" } };

  /** @param answers by the path of the request. */
  async function polledWith(http: HttpBinding, answers: Readonly<Record<string, unknown>>): Promise<unknown> {
    let result: unknown;
    await withRecorder(
      ({ url }) => answers[url],
      async ({ origin }) => {
        const { provider, request } = bind(http, { origin });
        result = await provider.poll(request, 'one', call).catch((error: unknown) => error);
      },
    );
    return result;
  }

  it('are read from the last poll', async () => {
    const done = await polledWith(polled, { '/v1/jobs/one': { state: 'done', files: FILE, usd: 0.25 } });

    assert.deepEqual(done, { kind: 'done', files: [{ from: 'url', url: FILE }], costMicroUsd: 250_000n });
  });

  it('are read from the result where there is one', async () => {
    const done = await polledWith(withResult, {
      '/v1/jobs/one': { state: 'done', usd: 9 },
      '/v1/jobs/one/result': { files: FILE, usd: 0.25 },
    });

    assert.deepEqual(done, { kind: 'done', files: [{ from: 'url', url: FILE }], costMicroUsd: 250_000n });
  });

  it('are read from the last poll where the result is a file', async () => {
    const done = await polledWith(
      { ...withResult, outputs: '$body' },
      { '/v1/jobs/one': { state: 'done', usd: 0.25 } },
    );

    assert.ok(typeof done === 'object' && done !== null && 'costMicroUsd' in done);
    assert.equal(done.costMicroUsd, 250_000n);
  });

  it('are read from the answer of a failed job, which may say that nothing is billed', async () => {
    const failed = await polledWith(polled, {
      '/v1/jobs/one': { state: 'failed', reason: 'content_rejected', usd: 0 },
    });

    assert.ok(failed instanceof ProviderFailure);
    assert.equal(failed.reason, 'content_rejected');
    assert.deepEqual(failed.consumption, { costMicroUsd: 0n });
  });
});

describe('usage and cost in the answer that takes a job', () => {
  const http: HttpBinding = {
    ...JOBS,
    submit: { ...JOBS.submit, usage: 'credits ? { "credits": credits }', cost: '$httpStatus = 200 ? usd' },
  };

  async function submitted(answer: object, binding = http): Promise<unknown> {
    let result: unknown;
    await withRecorder(
      () => answer,
      ({ origin }) =>
        withScratch(async (scratch) => {
          const { provider, request } = bind(binding, { origin });
          result = await provider.submit(request, scratch.call).catch((error: unknown) => error);
        }),
    );
    return result;
  }

  it('are part of the submission', async () => {
    assert.deepEqual(await submitted({ id: 'one', usd: '0.0147', credits: 11 }), {
      kind: 'job',
      jobId: 'one',
      usage: { credits: 11 },
      costMicroUsd: 14_700n,
    });
    assert.deepEqual(await submitted({ id: 'one', usd: 0 }), { kind: 'job', jobId: 'one', costMicroUsd: 0n });
    assert.deepEqual(await submitted({ id: 'one' }), { kind: 'job', jobId: 'one' });
  });

  it('never cost the job: what they cannot be read from has none', async () => {
    const job = { kind: 'job', jobId: 'one' };
    assert.deepEqual(await submitted({ id: 'one', usd: -1, credits: 'many' }), job);
    for (const text of [
      '$error("no")',
      '{ $lowercase("DOLLARS"): 1 }',
      '$f()',
      '$match($pad("", 60, "a") & "!", /(a+)+$/)',
    ]) {
      const binding = { ...http, submit: { ...JOBS.submit, usage: text, cost: text } };
      assert.deepEqual(await submitted({ id: 'one' }, binding), job, text);
    }
  });

  it('are not read of an answer that took nothing', async () => {
    assert.ok((await submitted({ usd: 1 })) instanceof ProviderUnknown);
  });
});

describe('a binding that reads usage or cost', () => {
  it('is rejected where the submit has them although there are no jobs, or they cannot be parsed', () => {
    const { submit, outputs } = SYNCHRONOUS;

    assert.deepEqual(findBindingProblems({ submit: { ...submit, cost: 'usd' }, outputs }), [
      'submit.cost: it needs jobId; without jobs there is cost',
    ]);
    assert.deepEqual(findBindingProblems({ submit: { ...submit, usage: 'u' }, outputs }), [
      'submit.usage: it needs jobId; without jobs there is usage',
    ]);
    const unparsed = { ...JOBS, submit: { ...submit, cost: '(', usage: '$eval("1")' } };
    assert.match(findBindingProblems(unparsed).join(' '), /submit.usage: \$eval is not .*submit.cost: not JSONata/);
    assert.deepEqual(findBindingProblems({ ...JOBS, submit: { ...submit, cost: 'usd', usage: 'u' } }), []);
  });

  it('is rejected where the response is a file, or an expression cannot be parsed', () => {
    const file: HttpBinding = { submit: SYNCHRONOUS.submit, outputs: '$body' };

    assert.deepEqual(findBindingProblems({ ...file, cost: 'usd' }), ['cost: the response to the submit is a file']);
    assert.deepEqual(findBindingProblems({ ...file, usage: 'usage' }), ['usage: the response to the submit is a file']);
    assert.match(findBindingProblems({ ...SYNCHRONOUS, cost: '(' }).join(), /^cost: not JSONata/);
    assert.deepEqual(findBindingProblems(SYNCHRONOUS), []);
  });
});
