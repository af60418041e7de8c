/** The log of a real api process: it reports what failed, and contains no key, no prompt and no signed URL. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import type { ApiAnswer } from '../support/api-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import type { Statement } from '../../src/database/database.ts';

const PROMPT = 'a secret lighthouse no one may read about';
const KEY = 'idempotency-key-that-is-an-order-number';
const CALLBACK = 'https://example.com/hook-with-a-token-in-it';
const METADATA = 'metadata-of-a-customer';

const IN_THE_WAY: Statement = {
  name: 'plant_a_failure',
  text: `ALTER TABLE tasks ADD CONSTRAINT no_prompt CHECK (input IS NULL) NOT VALID`,
};
const TABLES_AWAY: Statement = { name: 'hide_outputs', text: 'ALTER TABLE outputs RENAME TO outputs_away' };

let darkroom: Darkroom;
let account: TestAccount;
before(async () => {
  darkroom = await startDarkroom({ apis: 1, workers: 1, environment: { LOG_REQUESTS: 'true' } });
  account = await darkroom.createAccount();
});
after(() => darkroom.stop());

function create(): Promise<ApiAnswer> {
  return account.client.create(
    {
      model: 'darkroom/scene',
      input: { prompt: PROMPT, resolution: '1k' },
      metadata: { note: METADATA },
      callback: { url: CALLBACK },
    },
    KEY,
  );
}

describe('the log', () => {
  // Proves S4.1-4, S7-6, C1-4, C1-21.
  it('contains no key, prompt, body or signed URL, for requests that succeed or fail', async () => {
    const created = await account.client.create({ model: 'darkroom/scene', input: { prompt: PROMPT } });
    const { output } = await account.client.waitForTerminal(created.body.data.taskId);
    const url = output?.[0]?.url ?? assert.fail('no output');
    assert.equal((await fetch(url)).status, 200);
    const token = new URL(url).pathname.split('/')[2] ?? '';

    // Requests that are rejected.
    await account.client.send('POST', '/v1/tasks', { model: PROMPT, input: { prompt: PROMPT } });
    await account.client.send('POST', '/v1/tasks', `{"input":"${PROMPT}`);
    await account.client.send('GET', `/v1/tasks/${PROMPT}`);
    await fetch(`${url}x`.replace(token, `${token}x`));
    // Requests that fail in the database, whose error would contain the very row that it rejected.
    await darkroom.testDatabase.database.query(IN_THE_WAY);
    const failed = await create();
    assert.equal(failed.status, 500);
    assert.equal(failed.body.error_code, 'INTERNAL_ERROR');
    assert.doesNotMatch(failed.body.message, /constraint|no_prompt|tasks/);
    await darkroom.testDatabase.database.query(TABLES_AWAY);
    const lost = await fetch(url);
    assert.equal(lost.status, 500);
    // The log is complete once the process has ended.
    await darkroom.apis[0]?.kill('SIGTERM');

    const log = await readFile(darkroom.logFile, 'utf8');
    const failures = log.split('\n').filter((line) => line.includes('"request failed"'));
    assert.equal(failures.length, 2, log);
    for (const answer of [failed.headers.get('x-request-id'), lost.headers.get('x-request-id')]) {
      assert.ok(answer !== null && log.includes(answer), 'a failure is found by its request id');
    }
    assert.match(log, /"method":"GET","route":"\/media\/:token\/:name","status":200,/, 'the access log is there too');
    for (const line of failures) assert.match(line, /"route":"\/(v1\/tasks|media\/:token\/:name)"/);
    const secret = account.client.key.split('_').at(-1) ?? '';
    for (const planted of [account.client.key, secret, PROMPT, KEY, CALLBACK, METADATA, url, token]) {
      assert.ok(!log.includes(planted), `the log holds ${planted}`);
    }
  });
});
