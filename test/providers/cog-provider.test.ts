/** The adapter of protocol `cog`, against the published interface; test/wide has a real container's server. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, it } from 'node:test';
import { createCogProvider } from '../../src/providers/cog/cog-provider.ts';
import { concurrencyOf } from '../../src/upstreams/upstream-caps.ts';
import { ProviderRejection } from '../../src/providers/provider.ts';
import { describeProviderContract } from './provider-contract.ts';
import { submitCall } from './submit-call.ts';

const call = submitCall();
const directory = mkdtempSync(path.join(os.tmpdir(), 'cog-media-'));
after(() => rmSync(directory, { recursive: true, force: true }));

describeProviderContract(
  {
    protocol: 'cog',
    create: createCogProvider,
    isSynchronous: true,
    isRepeatable: true,
    rejectsWith: [409],
    ignoresModel: true,
  },
  (bench) => {
    const { provider, request, caught, linesOf, waitForLogged } = bench;

    it('reports a temporary rejection when the container has no free slot', async () => {
      const error = await caught(provider.submit(request('full [reject 409]'), call));

      assert.ok(error instanceof ProviderRejection);
      assert.equal(error.reason, 'provider_unavailable');
      assert.ok((error.retryAfterMs ?? 0) > 0);
      assert.equal(concurrencyOf({ protocol: 'cog' }), 1, 'so that it is asked for one at a time');
    });

    it('waits for the prediction of an earlier attempt to end, and only then starts another', async () => {
      const work = request('twice [slow 400]');
      const earlier = provider.submit(work, call);
      await waitForLogged('twice [slow 400]', 'submit');

      const submission = await provider.submit(work, call);

      assert.equal(submission.kind, 'done');
      assert.equal((await earlier).kind, 'done');
      const kinds = (await linesOf('twice [slow 400]')).map(({ kind }) => kind);
      assert.deepEqual(kinds, ['submit', 'replay', 'finished', 'submit', 'finished']);
    });

    it('stops the prediction at the container when the call is aborted', async () => {
      const stop = new AbortController();
      const work = provider.submit(request('stopped [slow 600000]'), submitCall({ signal: stop.signal }));
      await waitForLogged('stopped [slow 600000]', 'submit');
      stop.abort(new Error('stopped'));

      assert.match(String(await caught(work)), /stopped/);

      // Ended by our cancel or by the closed connection, whichever came first: either way it never ends by itself.
      const again = await provider.submit(request('free'), call);
      assert.equal(again.kind, 'done');
      assert.ok(!(await linesOf('stopped [slow 600000]')).some(({ kind }) => kind === 'finished'));
    });

    it('sends the media themselves, at their positions in the input', async () => {
      const file = path.join(directory, 'image');
      writeFileSync(file, 'PNG');
      const work = request('with media');
      const input = { ...work.input, image: 'upload:1', more: { masks: ['upload:2'] } };
      const image = { mimeType: 'image/png', path: file };
      const media = new Map([
        ['image', image],
        ['more.masks.0', image],
      ]);

      await provider.submit({ ...work, input, media }, call);

      const [submit] = await linesOf('with media');
      assert.equal(submit?.fields?.['image'], 'data:image/png;base64,UE5H');
      assert.deepEqual(submit.fields['more'], { masks: ['data:image/png;base64,UE5H'] });
    });

    it('rejects media that are too large to be sent in the input', async () => {
      const file = path.join(directory, 'video');
      writeFileSync(file, '');
      truncateSync(file, 65 * 1024 * 1024);
      const work = request('too much');
      const media = new Map([['video', { mimeType: 'video/mp4', path: file }]]);

      const error = await caught(
        provider.submit({ ...work, input: { ...work.input, video: 'upload:1' }, media }, call),
      );

      assert.ok(error instanceof ProviderRejection);
      assert.equal(error.reason, 'input_invalid');
      assert.deepEqual(error.fault, { kind: 'too_large', field: 'video' });
      assert.deepEqual(await linesOf('too much'), []);
    });
  },
);
