/** The built-in model of transcriptions: what it says, and that nobody can take it for what was said. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createEmbeddedProvider } from '../../../src/providers/embedded/embedded-provider.ts';
import { submitCall } from '../submit-call.ts';

describe('the conformance model of transcriptions', () => {
  it('says what it is, spread over the recording, in the requested formats', async () => {
    const provider = createEmbeddedProvider({
      has: () => false,
      render: () => assert.fail(),
      enter: () => assert.fail(),
    });
    const upstream = { protocol: 'embedded', model: 'conformance-transcription' };
    const input = { audio_url: 'upload:1', formats: ['json', 'srt'] };
    const request = { taskId: 'tk-svc-00000000000000000000000001', upstream, input, inputSeconds: 10 } as const;

    assert.equal(await provider.enter?.(upstream, submitCall()), undefined);
    const submission = await provider.submit(request, submitCall());
    assert.ok(submission.kind === 'done');
    const [json, srt] = submission.files.map((file) => ('bytes' in file ? Buffer.from(file.bytes).toString() : ''));
    const transcript = JSON.parse(json ?? '') as { text: string; segments: readonly { start: number; end: number }[] };
    assert.match(transcript.text, /conformance model of Darkroom[^]*docs\/guides\/transcription\.md/);
    assert.deepEqual(
      transcript.segments.map(({ start, end }) => [start, end]),
      [
        [0, 5],
        [5, 10],
      ],
    );
    assert.match(srt ?? '', /00:00:05,000 --> 00:00:10,000/);
  });
});
