/** One official client and one recorder for the tests of a file: starting a client takes longer than a test. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { ProviderUnknown } from '../../src/providers/provider.ts';
import type { InputFile, SubmitCall } from '../../src/providers/provider.ts';
import { withRecorder, withScratch } from '../providers/http/recorder.ts';
import type { Recorded } from '../providers/http/recorder.ts';
import { withClient } from './client.ts';
import type { ClientAnswer, OfficialClient } from './client.ts';
import { ended } from './oracle.ts';

/** What a provider answers. */
export interface Scripted {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: nothing. */
  readonly json?: unknown;
  /** Sent instead. */
  readonly file?: { readonly mimeType: string; readonly bytes: Buffer };
}

export interface Session {
  /** Of the recorder. */
  readonly origin: string;
  readonly call: OfficialClient['call'];
  /** Answers all requests from now on. */
  answer(choose: Scripted | ((request: Recorded) => Scripted)): void;
  /** The requests since the last `answer`. */
  requests(): readonly Recorded[];
}

interface Started {
  readonly origin: string;
  readonly requests: readonly Recorded[];
  readonly call: OfficialClient['call'];
}

/** Starts both before the tests of the suite that calls it, and ends them afterwards. @param name of the client. */
export function useClient(name: string): Session {
  let started: Started | undefined;
  let choose: (request: Recorded) => Scripted = () => ({});
  let seen = 0;
  let finish: () => void = () => undefined;
  let whole: Promise<void> = Promise.resolve();

  before(async () => {
    const finished = new Promise<void>((resolve) => (finish = resolve));
    await new Promise<void>((resolve, reject) => {
      whole = withRecorder(
        (request, response) => {
          const { status = 200, headers = {}, json, file } = choose(request);
          response.statusCode = status;
          for (const [header, value] of Object.entries(headers)) response.setHeader(header, value);
          if (file === undefined) return json ?? void response.end();
          response.setHeader('content-type', file.mimeType).end(file.bytes);
          return undefined;
        },
        ({ origin, requests }) =>
          withClient(name, origin, async ({ call }) => {
            started = { origin, requests, call };
            resolve();
            await finished;
          }),
      );
      whole.catch(reject);
    });
  });
  after(async () => {
    finish();
    await whole;
  });

  const running = (): Started => started ?? assert.fail('the client has not started');
  return {
    get origin() {
      return running().origin;
    },
    call: (...call) => running().call(...call),
    answer(next) {
      choose = typeof next === 'function' ? next : () => next;
      seen = running().requests.length;
    },
    requests: () => running().requests.slice(seen),
  };
}

/** The content of every file of an input, which is a PNG for all that matters here. */
export const IMAGE = Buffer.from('an image');

type MediaWork<Result> = (media: ReadonlyMap<string, InputFile>, call: SubmitCall) => Promise<Result>;

/** @param paths of the input's files: `image_urls.0`. */
export function withImages<Result>(paths: readonly string[], work: MediaWork<Result>): Promise<Result> {
  return withFiles('image/png', paths, work);
}

/** The same for files of another type. */
export async function withFiles<Result>(
  mimeType: string,
  paths: readonly string[],
  work: MediaWork<Result>,
): Promise<Result> {
  const results: Result[] = [];
  await withScratch(async ({ call, inputFile }) => {
    const files = paths.map(async (path) => [path, await inputFile(mimeType, IMAGE)] as const);
    results.push(await work(new Map(await Promise.all(files)), call));
  });
  const [result] = results;
  return result ?? assert.fail('there is no result');
}

/** How an answer to a submit is understood. */
export interface Rejection {
  readonly what: string;
  readonly answer: Scripted;
  readonly reason: string;
  readonly retryAfterMs?: number;
}

/** Both sides of one submit. */
export interface Submits {
  ours(): Promise<unknown>;
  theirs(): Promise<ClientAnswer>;
}

/** The answers that took no work, and an error of the server, which may have taken it. */
export function itRejects(
  session: Pick<Session, 'answer'>,
  { ours, theirs }: Submits,
  rejections: readonly Rejection[],
): void {
  for (const { what, answer, reason, retryAfterMs } of rejections) {
    it(`takes ${what} for a rejection, as the official client does`, async () => {
      session.answer(answer);
      const { error } = await theirs();
      assert.equal(error?.status, answer.status);
      const end = await ended(ours());
      assert.ok('retryAfterMs' in end, JSON.stringify(end));
      assert.equal(end.rejected, reason);
      if (retryAfterMs !== undefined) assert.equal(end.retryAfterMs, retryAfterMs);
    });
  }

  it('leaves open what became of a submit that the server failed to answer', async () => {
    session.answer({ status: 500, json: { error: { message: 'Internal Server Error' } } });
    assert.equal((await theirs()).error?.status, 500);
    await assert.rejects(ours(), ProviderUnknown);
  });
}
