/**
 * Our callbacks, checked with the verifier that the authors of Standard Webhooks publish for Python, as they were
 * delivered over HTTP. Skipped, with the reason, if there is no Python.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import type { WireWebhookKey } from '@darkroom/api/tasks/webhook-key';
import type { ReceivedCallback } from '../support/callback-receiver.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';

const STANDARD_WEBHOOKS = { name: 'standardwebhooks', version: '1.1.0' };

/**
 * Reads what is to be verified, and by how many seconds the receiver's clock is ahead; prints `ok` or the reason why
 * not.
 */
const PROGRAM = `
import json, sys
from datetime import datetime, timedelta
import standardwebhooks.webhooks as webhooks

given = json.load(sys.stdin)

class Ahead(datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.now(tz) + timedelta(seconds=given["aheadSeconds"])

webhooks.datetime = Ahead
try:
    verified = webhooks.Webhook(given["secret"]).verify(given["body"], given["headers"])
    print("ok " + verified["taskId"])
except webhooks.WebhookVerificationError as error:
    print("rejected: " + str(error))
`;

interface Given {
  readonly secret: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly aheadSeconds: number;
}

const skip = whyNoPackage(STANDARD_WEBHOOKS);

describe("the verifier of Standard Webhooks' own package for Python", { skip, timeout: 600_000 }, () => {
  let python: string;
  let outside: DarkroomWithUpstreams;
  let secret: string;
  let taskId: string;
  let callback: ReceivedCallback;
  before(async () => {
    python = await obtainPackage(STANDARD_WEBHOOKS);
    outside = await startDarkroomWithUpstreams();
    const account = await outside.darkroom.createAccount();
    const made = await account.client.send('POST', '/v1/account/webhook-key/rotate');
    secret = (made.body.data as unknown as WireWebhookKey).whsec ?? assert.fail('no key');
    taskId = await outside.create(account, {
      model: 'test/openai',
      input: { prompt: 'a boat' },
      metadata: { note: 'grün ✓' },
      callback: { url: `${outside.receiver.url}/ok/python` },
    });
    callback = (await outside.waitForCalledBack(taskId))[0] ?? assert.fail('no callback');
  });
  after(() => outside?.stop());

  async function verify(changed: Partial<Given> = {}): Promise<string> {
    const { body, headers } = callback;
    const given: Given = { secret, body, headers, aheadSeconds: 0, ...changed };
    const child = spawn(python, ['-c', PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.end(JSON.stringify(given));
    return (await text(child.stdout)).trim();
  }

  it('accepts what was delivered', async () => {
    assert.equal(await verify(), `ok ${taskId}`);
  });

  it('rejects a body that was altered', async () => {
    const body = callback.body.replace('success', 'suckess');
    assert.match(await verify({ body }), /^rejected: No matching signature/);
  });

  it('rejects another key', async () => {
    const other = `whsec_${Buffer.from('x'.repeat(32)).toString('base64')}`;
    assert.match(await verify({ secret: other }), /^rejected: No matching signature/);
  });

  it('rejects one whose time was altered, and one that is sent again later as it was', async () => {
    const later = String(Number(callback.headers['webhook-timestamp']) + 1);
    const headers = { ...callback.headers, 'webhook-timestamp': later };
    assert.match(await verify({ headers }), /^rejected: No matching signature/);
    assert.match(await verify({ aheadSeconds: 600 }), /^rejected: Message timestamp too old/);
  });
});
