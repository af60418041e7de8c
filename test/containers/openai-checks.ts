/** The endpoints of OpenAI's clients, through the proxy: text in both dialects, also streamed, and media. */
import assert from 'node:assert/strict';
import sharp from 'sharp';
import type { Check, CheckContext } from './checks.ts';

const TEXT_MODEL = 'darkroom/conformance-text';
/** Long enough to arrive in many pieces. */
const LONG_PROMPT = `Repeat: ${'high water is at six, and low water is at noon; '.repeat(40)}`;

interface Video {
  readonly id: string;
  readonly status: string;
}

export const OPENAI_CHECKS: readonly Check<Pick<CheckContext, 'client'>>[] = [
  {
    name: 'chat completions answer, and are streamed as they are generated',
    async check({ client }) {
      const body = { model: TEXT_MODEL, messages: [{ role: 'user', content: 'Say hello.' }] };
      const answer = (await client.ask('POST', '/v1/chat/completions', body)) as {
        choices: { message: { content: string } }[];
      };
      assert.notEqual(answer.choices[0]?.message.content ?? '', '');

      const long = { model: TEXT_MODEL, messages: [{ role: 'user', content: LONG_PROMPT }], stream: true };
      const { text, pieces } = await client.stream('/v1/chat/completions', long);
      const events = text.trim().split('\n\n');
      assert.equal(events.at(-1), 'data: [DONE]');
      assert.ok(events.length > 20, text);
      // A proxy that collected the response would pass it on in one piece.
      assert.ok(pieces > 1, 'the stream arrived in one piece');
      return `${events.length} events in ${pieces} pieces`;
    },
  },
  {
    name: 'responses answer, and are streamed as they are generated',
    async check({ client }) {
      const answer = (await client.ask('POST', '/v1/responses', { model: TEXT_MODEL, input: 'Say hello.' })) as {
        status: string;
      };
      assert.equal(answer.status, 'completed');
      const body = { model: TEXT_MODEL, input: LONG_PROMPT, stream: true };
      const { text, pieces } = await client.stream('/v1/responses', body);
      const types = [...text.matchAll(/^event: (.+)$/gm)].map(([, type]) => type);
      assert.deepEqual([types[0], types.at(-1)], ['response.created', 'response.completed']);
      assert.ok(pieces > 1, 'the stream arrived in one piece');
      return `${types.length} events in ${pieces} pieces`;
    },
  },
  {
    name: 'images are generated and edited',
    async check({ client }) {
      const body = { model: 'darkroom/scene', prompt: 'a lighthouse at dusk', size: '1024x1024' };
      const { data } = (await client.ask('POST', '/v1/images/generations', body)) as { data: { b64_json: string }[] };
      const image = Buffer.from(data[0]?.b64_json ?? '', 'base64');
      const { width, height } = await sharp(image).metadata();
      assert.deepEqual([width, height], [1024, 1024]);

      const images = [{ image_url: `data:image/png;base64,${image.toString('base64')}` }];
      const edit = { model: 'darkroom/edit', prompt: 'make it night', images };
      const edited = (await client.ask('POST', '/v1/images/edits', edit)) as { data: { b64_json: string }[] };
      assert.notEqual(edited.data[0]?.b64_json ?? '', '');
      return undefined;
    },
  },
  {
    name: 'speech is spoken',
    async check({ client }) {
      const body = { model: 'darkroom/speech', input: 'High water is at six.', voice: 'alloy' };
      const { headers, bytes } = await client.askBytes('POST', '/v1/audio/speech', { body });
      assert.match(String(headers['content-type']), /^audio\//);
      assert.ok(bytes.length > 1_000, `${bytes.length} bytes`);
      return `${String(headers['content-type'])} of ${bytes.length} bytes`;
    },
  },
  {
    name: 'a video is created, polled and downloaded',
    async check({ client }) {
      const body = { model: 'darkroom/motion', prompt: 'a forest', seconds: '1', size: '854x480' };
      const { id } = (await client.ask('POST', '/v1/videos', body)) as Video;
      const video = await client.readUntil<Video>(`/v1/videos/${id}`, ({ status }) => /completed|failed/.test(status));
      assert.equal(video.status, 'completed');
      const { bytes } = await client.askBytes('GET', `/v1/videos/${id}/content`);
      assert.equal(bytes.subarray(4, 8).toString('latin1'), 'ftyp');
      return `${bytes.length} bytes`;
    },
  },
  {
    name: 'the list of models names their endpoints',
    async check({ client }) {
      const { data } = (await client.ask('GET', '/v1/models')) as { data: { id: string; endpoints?: string[] }[] };
      const scene = data.find(({ id }) => id === 'darkroom/scene');
      assert.ok(scene?.endpoints?.includes('/v1/images/generations'), JSON.stringify(scene));
      return `${data.length} models`;
    },
  },
];
