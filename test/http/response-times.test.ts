/**
 * The times in responses follow one clock, that of the database, whatever the machine's or an upstream's clock says
 * (docs/decisions/0007).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { textDefinition } from '../catalogue/definitions.ts';
import type { Json } from '../text/upstream/scripted-answers.ts';
import { startTestUpstream } from '../text/upstream/test-upstream.ts';
import type { TestUpstream } from '../text/upstream/test-upstream.ts';
import { openaiUpstream } from '../text/upstream/upstream-bench.ts';
import { raw } from './raw-request.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

/** How far the database is ahead of the machine. */
const AHEAD_MS = 5_000;
const MODELS = {
  'acme/text': 'is embedded',
  'acme/native': 'has responses',
  'acme/translated': 'has chat completions',
};

describe('the times of a stored response', () => {
  let upstream: TestUpstream;
  let served: ServedApp;
  let account: ServedAccount;
  /** Ahead of the machine, or a second earlier with each read, as if PostgreSQL's clock were set back. */
  let now = (): number => Date.now() + AHEAD_MS;
  before(async () => {
    upstream = await startTestUpstream();
    const behind = (id: string, apis: ('chat.completions' | 'responses')[]) =>
      textDefinition({ name: `acme/${id}`, upstreams: [openaiUpstream(upstream.baseUrl, { id, apis })] });
    served = await serveApp({
      now: () => now(),
      models: [behind('native', ['chat.completions', 'responses']), behind('translated', ['chat.completions'])],
    });
    account = await served.newAccount();
  });
  after(async () => {
    await served.close();
    await upstream.close();
  });

  /** The response as it is stored, once it has been created. */
  async function stored(model: string, isStreamed: boolean): Promise<Json> {
    const headers = { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ model, input: 'Hello', stream: isStreamed });
    const { status, text } = await raw(served.url, 'POST', '/v1/responses', headers, body);
    assert.equal(status, 200, text);
    const id = /"(resp_[^"]+)"/.exec(text)?.[1];
    return JSON.parse((await raw(served.url, 'GET', `/v1/responses/${id}`, headers)).text) as Json;
  }

  for (const [model, kind] of Object.entries(MODELS)) {
    for (const isStreamed of [false, true]) {
      it(`are those of the database when the model ${kind}, ${isStreamed ? 'streamed' : 'whole'}`, async () => {
        const earliest = Math.floor(now() / 1000);
        const { created_at: createdAt, completed_at: completedAt, status } = await stored(model, isStreamed);

        assert.equal(status, 'completed');
        assert.ok(Number(createdAt) >= earliest, `${String(createdAt)} < ${earliest}`);
        assert.ok(Number(completedAt) >= Number(createdAt), `${String(completedAt)} < ${String(createdAt)}`);
        assert.ok(Number(completedAt) <= now() / 1000, String(completedAt));
      });
    }

    it(`are in order when the clock is set back meanwhile and the model ${kind}`, async () => {
      const forward = now;
      let looks = 0;
      now = () => forward() - 1_000 * (looks += 1);
      try {
        const { created_at: createdAt, completed_at: completedAt } = await stored(model, false);
        assert.equal(completedAt, createdAt);
      } finally {
        now = forward;
      }
    });
  }
});
