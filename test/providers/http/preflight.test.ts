/** The request of a binding that asks ahead of a submit whether the provider has what the input names. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import type { HttpBinding } from '../../../src/providers/http/binding.ts';
import { findBindingProblems } from '../../../src/providers/http/validate-binding.ts';
import { ProviderRejection } from '../../../src/providers/provider.ts';
import { submitCall } from '../submit-call.ts';
import { JOBS, bind, withRecorder } from './recorder.ts';

const ASKING: HttpBinding = {
  ...JOBS,
  headers: { 'X-Version': '1' },
  preflight: {
    path: "'/voices?like=' & voice",
    refusal: "$exists($lookup($, $input.voice)) ? false : 'input_invalid'",
  },
};

/** What became of a submit for a voice, and the requests that it took. */
async function submitted(answer: (response: ServerResponse) => unknown, http = ASKING, voice: unknown = 'amy') {
  let outcome: unknown;
  const paths: string[] = [];
  await withRecorder(
    ({ method, url }, response) => (method === 'GET' ? answer(response) : url && { id: 'job-1' }),
    async ({ origin, requests }) => {
      const { provider, request } = bind(http, { origin, input: { prompt: 'a boat', voice } });
      outcome = await provider.submit(request, submitCall()).catch((error: unknown) => error);
      for (const { method, url, headers } of requests) {
        assert.deepEqual([headers['x-version'], headers.authorization], ['1', 'Bearer the-key']);
        paths.push(`${method} ${url}`);
      }
    },
  );
  return { outcome, paths };
}

describe('a preflight', () => {
  it('is followed by the submit if the provider has what is named', async () => {
    const { outcome, paths } = await submitted(() => ({ amy: {}, joe: {} }));

    assert.deepEqual(outcome, { kind: 'job', jobId: 'job-1' });
    assert.deepEqual(paths, ['GET /v1/voices?like=amy', 'POST /v1/jobs']);
  });

  it('is a rejection, and nothing is submitted, if the provider does not have it or cannot say so', async () => {
    const refusing = (refusal: string): HttpBinding => ({
      ...ASKING,
      preflight: { path: "'/voices'", refusal },
    });
    const status = (code: number) => (response: ServerResponse) => {
      response.writeHead(code).end('{}');
    };
    const [UNAUTHORIZED, FORBIDDEN] = [status(401), status(403)];
    for (const [answer, reason, http] of [
      [() => ({ joe: {} }), 'input_invalid', ASKING],
      [status(404), 'model_unavailable', ASKING],
      [UNAUTHORIZED, 'model_unavailable', ASKING],
      [FORBIDDEN, 'model_unavailable', ASKING],
      [status(500), 'provider_unavailable', ASKING],
      [(response: ServerResponse) => void response.end('<p>'), 'provider_unavailable', ASKING],
      // Faults of the model file.
      [() => ({ amy: {} }), 'model_unavailable', refusing("$error('no such thing')")],
      [() => ({ amy: {} }), 'model_unavailable', refusing('nothing')],
      [() => ({ amy: {} }), 'model_unavailable', refusing('true')],
      [() => ({ amy: {} }), 'model_unavailable', { ...ASKING, preflight: { path: "'no path'", refusal: 'false' } }],
    ] as const) {
      const { outcome, paths } = await submitted(answer, http);

      assert.ok(outcome instanceof ProviderRejection, String(outcome));
      assert.equal(outcome.reason, reason);
      assert.equal(outcome.retryAfterMs, reason === 'provider_unavailable' ? 5_000 : undefined);
      // A member of a pool is left alone for a while.
      const isUnauthorized = answer === UNAUTHORIZED || answer === FORBIDDEN;
      if (isUnauthorized) assert.equal(outcome.condition, 'unauthorized');
      assert.ok(
        paths.every((path) => path.startsWith('GET ')),
        paths.join(),
      );
    }
  });

  it('that cannot be read makes the file invalid', () => {
    const problems = (preflight: NonNullable<HttpBinding['preflight']>) =>
      findBindingProblems({ ...ASKING, preflight });

    assert.match(problems({ path: "'/voices", refusal: 'false' }).join(), /^preflight\.path: not JSONata/);
    assert.match(problems({ path: "'/voices'", refusal: '$now()' }).join(), /^preflight\.refusal: \$now/);
    assert.deepEqual(findBindingProblems(ASKING), []);
  });
});
