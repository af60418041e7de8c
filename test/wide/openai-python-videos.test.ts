/** OpenAI's official client for Python, unmodified: its methods for videos, plain and asynchronous. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';

const CLIENT = { name: 'openai', version: '3.57.0' };

/** Prints what each method returned, as JSON. */
const SYNC = `
import json, openai
client = openai.OpenAI()
body = dict(model="darkroom/motion", prompt="a lighthouse", seconds="1", size="854x480")
video = client.videos.create_and_poll(**body)
content = client.videos.download_content(video.id).read()
thumbnail = client.videos.download_content(video.id, variant="thumbnail").read()
try:
    client.videos.retrieve("video_1")
except openai.NotFoundError as error:
    missing = [error.status_code, error.code]
remix = client.videos.remix(video.id, prompt="cold", extra_body={"model": "darkroom/blend"})
listed = [each.id for each in client.videos.list(limit=1)]
deleted = [client.videos.delete(each).deleted for each in listed]
print(json.dumps(dict(status=video.status, progress=video.progress, seconds=video.seconds, size=video.size,
    head=content[4:8].decode(), thumbnail=len(thumbnail) > 100, missing=missing,
    remixed=remix.remixed_from_video_id == video.id, listed=listed == [remix.id, video.id], deleted=deleted)))
`;
const ASYNC = `
import asyncio, json, openai
async def main():
    client = openai.AsyncOpenAI()
    body = dict(model="darkroom/motion", prompt="a lighthouse", seconds="1", size="854x480")
    videos = await asyncio.gather(*[client.videos.create_and_poll(**body) for _ in range(2)])
    content = await (await client.videos.download_content(videos[0].id)).aread()
    listed = [each.id async for each in client.videos.list(limit=1)]
    deleted = [(await client.videos.delete(each)).deleted for each in listed]
    print(json.dumps(dict(statuses=[each.status for each in videos], head=content[4:8].decode(),
        listed=sorted(listed) == sorted(each.id for each in videos), deleted=deleted)))
asyncio.run(main())
`;

describe("OpenAI's official client for Python and videos", { skip: whyNoPackage(CLIENT) }, () => {
  let darkroom: Darkroom;
  let python: string;
  before(async () => {
    python = await obtainPackage(CLIENT);
    darkroom = await startDarkroom({ apis: 1 });
  });
  after(() => darkroom?.stop());

  async function run(script: string): Promise<unknown> {
    const account = await darkroom.createAccount();
    const env = { ...process.env, OPENAI_BASE_URL: `${darkroom.url}/v1`, OPENAI_API_KEY: account.client.key };
    const { stdout } = await promisify(execFile)(python, ['-c', script], { env, timeout: 120_000 });
    return JSON.parse(stdout) as unknown;
  }

  it('creates, polls, downloads, remixes, lists and deletes', async () => {
    assert.deepEqual(await run(SYNC), {
      status: 'completed',
      progress: 100,
      seconds: '1',
      size: '854x480',
      head: 'ftyp',
      thumbnail: true,
      missing: [404, 'not_found'],
      remixed: true,
      listed: true,
      deleted: [true, true],
    });
  });

  it('does so asynchronously', async () => {
    assert.deepEqual(await run(ASYNC), {
      statuses: ['completed', 'completed'],
      head: 'ftyp',
      listed: true,
      deleted: [true, true],
    });
  });
});
