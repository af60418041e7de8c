/**
 * URLs of images in text requests that an upstream would fetch: those in the operator's own network are rejected with
 * the name of their field, on both endpoints, before a request to the upstream and a hold.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { loadTokenizer } from '../../src/text/tokens.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { serveApp } from '../http/serve.ts';
import type { ServedApp } from '../http/serve.ts';
import { startTestUpstream } from '../text/upstream/test-upstream.ts';
import type { TestUpstream } from '../text/upstream/test-upstream.ts';
import { openaiUpstream } from '../text/upstream/upstream-bench.ts';

const HOSTILE = [
  ['https://10.0.0.5/a.png', /10\.0\.0\.5 is not a public address/],
  ['https://[::1]/a.png', /::1 is not a public address/],
  ['https://[::ffff:169.254.169.254]/latest', /is not a public address/],
  ['https://user:secret@example.com/a.png', /must not contain user information/],
  ['https://example.com:8443/a.png', /port 8443 is not allowed/],
] as const;

describe('an image address of the operator’s own network', () => {
  let upstream: TestUpstream;
  let served: ServedApp;
  before(async () => {
    await loadTokenizer();
    upstream = await startTestUpstream();
    served = await serveApp({
      models: [textDefinition({ name: 'acme/eyes', upstreams: [openaiUpstream(upstream.baseUrl, { id: 'eyes' })] })],
    });
  });
  after(async () => {
    await served.close();
    await upstream.close();
  });

  for (const [url, problem] of HOSTILE) {
    it(`like ${url} is rejected by both endpoints, and no connection is opened`, async () => {
      const { client } = await served.newAccount();
      const chat = await client.send('POST', '/v1/chat/completions', {
        model: 'acme/eyes',
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
      });
      const responses = await client.send('POST', '/v1/responses', {
        model: 'acme/eyes',
        input: [{ role: 'user', content: [{ type: 'input_image', image_url: url, detail: 'auto' }] }],
      });

      for (const [answer, field] of [
        [chat, 'messages.0.content.0.image_url.url'],
        [responses, 'input.0.content.0.image_url'],
      ] as const) {
        assert.equal(answer.status, 400, JSON.stringify(answer.body));
        assert.equal(answer.body.error_code, 'INVALID_REQUEST');
        assert.ok(answer.body.message.includes(`${field}: `), answer.body.message);
        assert.match(answer.body.message, problem);
      }
      assert.equal(upstream.requests.length, 0);
      const { body } = await client.send('GET', '/v1/account');
      assert.equal((body.data as unknown as { held: string }).held, '0');
    });
  }
});
