/**
 * Answers of which only the model file knows what they mean: a 5xx to a submit, and finished work without outputs.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HttpBinding } from '../../../src/providers/http/binding.ts';
import { ProviderFailure, ProviderRejection, ProviderUnknown } from '../../../src/providers/provider.ts';
import { submitCall } from '../submit-call.ts';
import { JOBS, bind, withRecorder, withScratch } from './recorder.ts';

const call = submitCall();

interface Scripted {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON, unless it is a text. */
  readonly body: unknown;
}

/** Runs tests with what a submit makes of an answer. */
async function withSubmits(
  http: HttpBinding,
  work: (submitted: (answer: Scripted) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  let scripted: Scripted = { body: {} };
  await withRecorder(
    (_, response) => {
      const { status = 200, headers = {}, body } = scripted;
      response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
      return undefined;
    },
    ({ origin, requests }) =>
      withScratch(async ({ call: own }) => {
        const { provider, request } = bind(http, { origin });
        await work(async (answer) => {
          scripted = answer;
          const before = requests.length;
          const outcome = await provider.submit(request, own).catch((error: unknown) => error);
          assert.equal(requests.length, before + 1);
          return outcome;
        });
      }),
  );
}

async function assertUnknown(outcome: Promise<unknown>, what: unknown): Promise<void> {
  assert.ok((await outcome) instanceof ProviderUnknown, JSON.stringify(what));
}

function isRejected(outcome: unknown): Pick<ProviderRejection, 'reason' | 'retryAfterMs' | 'condition'> {
  assert.ok(outcome instanceof ProviderRejection, String(outcome));
  const { reason, retryAfterMs, condition } = outcome;
  return { reason, retryAfterMs, condition };
}

describe('a 5xx to a submit', () => {
  const refusal = "code = 'queue_full' ? 'provider_unavailable' : code = 'nsfw' ? 'content_rejected'";
  const jobs: HttpBinding = { ...JOBS, submit: { ...JOBS.submit, refusal } };
  const file: HttpBinding = { submit: jobs.submit, outputs: '$body' };
  const synchronous: HttpBinding = { submit: jobs.submit, outputs: 'files' };

  // A wrong rejection is a second submit, and a second bill.
  it('is a rejection only if the file states its reason', async () => {
    for (const http of [jobs, synchronous, file]) {
      await withSubmits(http, async (submitted) => {
        for (const status of [500, 502, 504, 529]) {
          const rejected = await submitted({ status, body: { code: 'nsfw' } });
          const reason = 'content_rejected';
          assert.deepEqual(isRejected(rejected), { reason, retryAfterMs: undefined, condition: undefined });
          for (const body of [{ code: 'internal' }, {}, null, [], '"queue_full"']) {
            await assertUnknown(submitted({ status, body }), body);
          }
        }
      });
    }
  });

  it('with a job or with outputs may have taken the work, whatever else it says', async () => {
    await withSubmits(jobs, (submitted) =>
      assertUnknown(submitted({ status: 500, body: { id: 'job-1', code: 'queue_full' } }), 'a job'),
    );
    const files = ['https://files.example.com/1.png'];
    await withSubmits(synchronous, (submitted) =>
      assertUnknown(submitted({ status: 500, body: { files, code: 'queue_full' } }), 'outputs'),
    );
  });

  it('that is no JSON stays unknown, because a gateway may have sent it', async () => {
    const always = { ...JOBS, submit: { ...JOBS.submit, refusal: "'provider_unavailable'" } };
    await withSubmits(always, async (submitted) => {
      for (const body of ['<html>bad gateway</html>', '', '{"code":"queue_full"']) {
        await assertUnknown(submitted({ status: 502, body }), body);
      }
    });
  });

  it('that asks to wait is of a busy upstream, and otherwise of one that is down', async () => {
    const body = { code: 'queue_full' };
    const reason = 'provider_unavailable';
    await withSubmits(jobs, async (submitted) => {
      const busy = isRejected(await submitted({ status: 500, headers: { 'retry-after': '7' }, body }));
      assert.deepEqual(busy, { reason, retryAfterMs: 7_000, condition: 'busy' });
      const down = isRejected(await submitted({ status: 500, body }));
      assert.deepEqual(down, { reason, retryAfterMs: 5_000, condition: 'down' });
    });
  });

  it('is unknown if there is no expression or it fails, and so are 408 and 409 in any case', async () => {
    const body = { code: 'nsfw' };
    await withSubmits(JOBS, (submitted) => assertUnknown(submitted({ status: 500, body }), 'none'));
    const failing = { ...JOBS, submit: { ...JOBS.submit, refusal: '$error("no")' } };
    await withSubmits(failing, (submitted) => assertUnknown(submitted({ status: 500, body }), 'failing'));
    await withSubmits(jobs, async (submitted) => {
      for (const status of [408, 409]) await assertUnknown(submitted({ status, body }), status);
    });
  });
});

describe('finished work without outputs', () => {
  const http: HttpBinding = {
    ...JOBS,
    outputs: 'images[nsfw = false].url',
    reason: "state = 'done' and true in images.nsfw ? 'content_rejected' : code",
    cost: 'usd',
  };

  async function polled(answer: object, binding = http): Promise<unknown> {
    let outcome: unknown;
    await withRecorder(
      ({ url }) => (url.endsWith('/result') ? answer : { state: 'done', ...answer }),
      async ({ origin }) => {
        const { provider, request } = bind(binding, { origin });
        outcome = await provider.poll(request, 'one', call).catch((error: unknown) => error);
      },
    );
    return outcome;
  }
  const reasonOf = (outcome: unknown) => {
    assert.ok(outcome instanceof ProviderFailure, String(outcome));
    return outcome.reason;
  };
  const withheld = { images: [{ url: 'https://files.example.com/1.png', nsfw: true }] };

  it('has the reason that the file states', async () => {
    const outcome = await polled({ ...withheld, usd: 0.02 });

    assert.equal(reasonOf(outcome), 'content_rejected');
    assert.ok(outcome instanceof ProviderFailure);
    assert.deepEqual([outcome.isUnbilled, outcome.consumption], [false, { costMicroUsd: 20_000n }]);
  });

  it('is without output if the file states none, or only that of any failure', async () => {
    for (const code of [undefined, 'no_output', 'provider_error', 'timed_out', 'bad', 7]) {
      assert.equal(reasonOf(await polled({ images: [], code })), 'no_output', String(code));
    }
    assert.equal(reasonOf(await polled({}, { ...http, reason: '$error("no")' })), 'no_output');
    const { reason: _, ...without } = http;
    assert.equal(reasonOf(await polled(withheld, without)), 'no_output');
  });

  it('is asked for its reason in the response of the result, where there is one', async () => {
    const result = { path: "'/jobs/' & $jobId & '/result'" };
    const reason = "true in images.nsfw ? 'content_rejected'";

    assert.equal(reasonOf(await polled(withheld, { ...http, result, reason })), 'content_rejected');
  });

  it('has outputs as soon as there is one, whatever the expression says', async () => {
    const url = 'https://files.example.com/2.png';
    const images = [...withheld.images, { url, nsfw: false }];

    assert.deepEqual(await polled({ images }), { kind: 'done', files: [{ from: 'url', url }] });
  });
});
